#include "ckpt/file_sink.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "io/posix.h"
#include "io/temporaries.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::error_of;
using io_testing::put_file;
using io_testing::random_bytes;
using io_testing::TemporaryFolder;
using io_testing::text_of;

void write_text(FileSink& sink, std::string_view text) { sink.write(as_bytes(text)); }

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

TEST(FileSinkTest, TheFileAppearsAtCommit) {
  const TemporaryFolder folder;
  FileSink sink(folder / "out.pt");
  write_text(sink, "new");
  EXPECT_FALSE(std::filesystem::exists(folder / "out.pt"));
  sink.commit();
  EXPECT_EQ(text_of(folder / "out.pt"), "new");
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"out.pt"});
}

TEST(FileSinkTest, WhatIsCommittedTakesNoMore) {
  const TemporaryFolder folder;
  FileSink sink(folder / "out.pt");
  write_text(sink, "new");
  sink.commit();
  EXPECT_TRUE(error_of([&] { write_text(sink, "more"); }));
  const auto error = error_of([&] { sink.write(random_bytes(1'000'000)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(error_of([&] { sink.commit(); }));
  EXPECT_EQ(text_of(folder / "out.pt"), "new");
}

TEST(FileSinkTest, SmallAndLargeWritesKeepTheirOrder) {
  const TemporaryFolder folder;
  const Bytes small = random_bytes(100, 2);
  const Bytes large = random_bytes(700'000, 3);
  FileSink sink(folder / "out");
  for (const Bytes* piece : {&small, &large, &small, &small, &large}) sink.write(*piece);
  EXPECT_EQ(sink.offset(), 1'400'300u);
  sink.commit();
  EXPECT_EQ(read_all(*open_file(folder / "out"), UINT64_MAX), io_testing::joined({small, large, small, small, large}));
}

TEST(FileSinkTest, WithoutCommitTheTargetIsUntouchedAndNothingIsLeft) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  {
    FileSink sink(folder / "out");
    sink.write(random_bytes(1'000'000));
  }
  EXPECT_EQ(text_of(folder / "out"), "old");
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"out"});
}

TEST(FileSinkTest, ReplacesAnExistingFileAndLeavesNoTemporary) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old and longer");
  FileSink sink(folder / "out");
  write_text(sink, "new");
  EXPECT_EQ(text_of(folder / "out"), "old and longer");
  sink.commit();
  EXPECT_EQ(text_of(folder / "out"), "new");
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"out"});
}

TEST(FileSinkTest, AnOpenReaderOfTheOldFileKeepsIt) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  const auto old = open_file(folder / "out");
  FileSink sink(folder / "out");
  write_text(sink, "new!");
  sink.commit();
  EXPECT_EQ(as_text(read_all(*old, 10)), "old");
}

TEST(FileSinkTest, KeepsThePermissionBitsOfAnExistingFile) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  for (const mode_t mode : {0640U, 0600U, 0755U}) {
    ASSERT_EQ(::chmod((folder / "out").c_str(), mode), 0);
    FileSink sink(folder / "out");
    sink.commit();
    EXPECT_EQ(mode_of(folder / "out"), mode);
  }
}

TEST(FileSinkTest, KeepsPermissionsThatWereChangedMeanwhile) {
  const TemporaryFolder folder;
  put_file(folder / "out.pt", "old");
  FileSink sink(folder / "out.pt");
  write_text(sink, "new");
  ASSERT_EQ(::chmod((folder / "out.pt").c_str(), 0600), 0);
  sink.commit();
  EXPECT_EQ(mode_of(folder / "out.pt"), 0600U);
}

TEST(FileSinkTest, OfAnInputWhatIsNewerStands) {
  const TemporaryFolder folder;
  const auto commit = [&](bool is_input, std::string_view newer, bool renames) {
    put_file(folder / "out.pt", "old");
    FileSink sink(folder / "out.pt", {.is_input = is_input});
    write_text(sink, "made of the old");
    put_file(folder / (renames ? "epoch2" : "out.pt"), newer);
    if (renames) std::filesystem::rename(folder / "epoch2", folder / "out.pt");
    const auto error = error_of([&] { sink.commit(); });
    return error ? std::string(error->what()) : text_of(folder / "out.pt");
  };
  const std::string refusal = (folder / "out.pt") + ": has changed while it was read";
  EXPECT_EQ(commit(true, "new", true), refusal);
  EXPECT_EQ(commit(true, "larger", false), refusal);
  EXPECT_EQ(text_of(folder / "out.pt"), "larger");
  EXPECT_EQ(commit(false, "new", true), "made of the old") << "of two that write one file the last one wins";
}

TEST(FileSinkTest, ANewFileGetsWhatTheUmaskLeaves) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  FileSink sink(folder / "out");
  sink.commit();
  ::umask(before);
  EXPECT_EQ(mode_of(folder / "out"), 0640u);
}

TEST(FileSinkTest, NoClobberRefusesAnExistingFileAtOnce) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  const auto error = error_of([&] { FileSink(folder / "out", {.no_clobber = true}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_TRUE(error->is_output());
}

TEST(FileSinkTest, NoClobberRefusesAFileThatCameInTheMeantime) {
  const TemporaryFolder folder;
  {
    FileSink sink(folder / "out", {.no_clobber = true});
    write_text(sink, "mine");
    put_file(folder / "out", "theirs");
    EXPECT_THROW(sink.commit(), Error);
  }
  EXPECT_EQ(text_of(folder / "out"), "theirs");
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"out"});
}

TEST(FileSinkTest, ASymbolicLinkStaysOneAndItsFileIsReplaced) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "real");
  put_file(folder / "real/file", "old");
  std::filesystem::create_symlink("real/file", folder / "middle");
  std::filesystem::create_symlink("middle", folder / "link");
  FileSink sink(folder / "link");
  write_text(sink, "new");
  sink.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "middle"));
  EXPECT_EQ(text_of(folder / "real/file"), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "real/file"));
}

TEST(FileSinkTest, ADanglingLinksFileIsMade) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("absent", folder / "link");
  FileSink sink(folder / "link");
  write_text(sink, "new");
  sink.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(text_of(folder / "absent"), "new");
}

TEST(FileSinkTest, LinksInACircleAreAnError) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("b", folder / "a");
  std::filesystem::create_symlink("a", folder / "b");
  const auto error = error_of([&] { FileSink(folder / "a"); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_output());
}

TEST(FileSinkTest, RefusesFoldersDevicesAndMissingFolders) {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.path(), folder.path() + "/", folder / "absent/out", std::string("/dev/null")}) {
    const auto error = error_of([&] { FileSink sink(path); });
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->code(), ErrorCode::io) << path;
    EXPECT_TRUE(error->is_output()) << path;
    EXPECT_FALSE(error->hint().empty() && path == "/dev/null");
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(FileSinkTest, ReadsBackWhatWasWrittenBeforeCommit) {
  const TemporaryFolder folder;
  FileSink sink(folder / "out");
  write_text(sink, "archive");
  EXPECT_EQ(as_text(read_all(*sink.read_back(), 100)), "archive");
  write_text(sink, " and more");
  EXPECT_EQ(as_text(read_all(*sink.read_back(), 100)), "archive and more");
  sink.commit();
  EXPECT_EQ(text_of(folder / "out"), "archive and more");
}

TEST(FileSinkTest, AFullDiskIsAnOutputErrorInTheSystemsWords) {
  // A write past the file-size limit fails as one to a full disk does.
  const TemporaryFolder folder;
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit saved{};
  ::getrlimit(RLIMIT_FSIZE, &saved);
  const rlimit small{100'000, saved.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto error = error_of([&] {
    FileSink sink(folder / "out");
    for (int i = 0; i < 10; ++i) sink.write(Bytes(50'000));
    sink.commit();
  });
  ::setrlimit(RLIMIT_FSIZE, &saved);
  ::signal(SIGXFSZ, before);
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_output());
  EXPECT_NE(std::string(error->what()).find("cannot write: File too large"), std::string::npos);
  EXPECT_TRUE(folder.entries().empty());
}

TEST(TemporaryNameTest, DiscardRemovesWhatIsRegisteredAndNothingElse) {
  const TemporaryFolder folder;
  const UniqueFd opened(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  const TemporaryName kept(opened.get());
  TemporaryName released(opened.get());
  ASSERT_STRNE(kept.name(), released.name());
  const std::string released_name = released.name();
  put_file(folder / kept.name(), "x");
  put_file(folder / released_name, "x");
  released.release();
  discard_temporaries();
  EXPECT_EQ(folder.entries(), std::vector<std::string>{released_name});
}

TEST(TemporaryNameTest, SlotsAreGivenBack) {
  const TemporaryFolder folder;
  const UniqueFd opened(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 200; ++i) EXPECT_NO_THROW(TemporaryName(opened.get()));
}

TEST(StandardOutputTest, WritesInOrderAtCommit) {
  const TemporaryFolder folder;
  const UniqueFd file(::open((folder / "f").c_str(), O_RDWR | O_CREAT, 0600));
  {
    const io_testing::Redirected redirected(STDOUT_FILENO, file.get());
    const auto sink = standard_output();
    EXPECT_EQ(sink->name(), "standard output");
    sink->write(as_bytes("a"));
    sink->write(Bytes(300'000, std::byte{'b'}));
    sink->write(as_bytes("c"));
    sink->commit();
  }
  EXPECT_EQ(text_of(folder / "f"), "a" + std::string(300'000, 'b') + "c");
}

TEST(StandardOutputTest, AReaderThatWentAwayIsAnOutputError) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  read_end.reset();
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  std::optional<Error> error;
  {
    const io_testing::Redirected redirected(STDOUT_FILENO, write_end.get());
    const auto sink = standard_output();
    sink->write(as_bytes("x"));
    error = error_of([&] { sink->commit(); });
  }
  ::signal(SIGPIPE, before);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_TRUE(error->is_output());
  EXPECT_STREQ(error->what(), "standard output: cannot write: Broken pipe");
}

}  // namespace
}  // namespace ckpt
