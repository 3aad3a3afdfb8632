#include "ckpt/folder_sink.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "ckpt/file_sink.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::error_of;
using io_testing::put_file;
using io_testing::random_bytes;
using io_testing::TemporaryFolder;
using io_testing::text_of;

void add(FolderSink& sink, const std::string& name, std::string_view text) {
  const auto file = sink.add(name);
  file->write(as_bytes(text));
  file->commit();
}

TEST(FolderSinkTest, TheFolderAppearsAtCommitWithAllItsFiles) {
  const TemporaryFolder folder;
  FolderSink sink(folder / "out");
  add(sink, "a", "one");
  add(sink, "b", "four");
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  EXPECT_EQ(text_of(sink.path() + "/b"), "four");
  sink.commit();
  EXPECT_EQ(sink.bytes(), 7u);
  EXPECT_EQ(folder.entries(), std::vector<std::string>{"out"});
  EXPECT_EQ(text_of(folder / "out/a"), "one");
  EXPECT_EQ(text_of(folder / "out/b"), "four");
}

TEST(FolderSinkTest, WithAFileThatIsNotCommittedItDoesNotAppear) {
  const TemporaryFolder folder;
  FolderSink sink(folder / "out");
  add(sink, "a", "one");
  sink.add("b")->write(as_bytes("half of it"));
  const auto error = error_of([&] { sink.commit(); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_output());
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST(FolderSinkTest, WhatIsCommittedTakesNoMore) {
  const TemporaryFolder folder;
  FolderSink sink(folder / "out");
  const auto file = sink.add("a");
  file->write(as_bytes("one"));
  file->commit();
  EXPECT_TRUE(error_of([&] { file->write(as_bytes("more")); }));
  EXPECT_TRUE(error_of([&] { file->commit(); }));
  sink.commit();
  const auto error = error_of([&] { (void)sink.add("b"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(error_of([&] { sink.commit(); }));
  EXPECT_EQ(text_of(folder / "out/a"), "one");
}

TEST(FolderSinkTest, ADryRunRefusesWhatWouldBeRefused) {
  for (const bool dry_run : {false, true}) {
    const TemporaryFolder folder;
    FolderSink sink(folder / "out", {.no_clobber = false, .dry_run = dry_run});
    const auto file = sink.add("a");
    file->write(as_bytes("one"));
    EXPECT_TRUE(error_of([&] { (void)sink.add("a"); })) << dry_run;
    EXPECT_TRUE(error_of([&] { sink.commit(); })) << dry_run;
    file->commit();
    EXPECT_TRUE(error_of([&] { file->write(as_bytes("more")); })) << dry_run;
    EXPECT_TRUE(error_of([&] { file->commit(); })) << dry_run;
    sink.commit();
    EXPECT_TRUE(error_of([&] { (void)sink.add("b"); })) << dry_run;
    EXPECT_TRUE(error_of([&] { sink.commit(); })) << dry_run;
    EXPECT_EQ(sink.bytes(), 3u) << dry_run;
  }
}

TEST(FolderSinkTest, WithoutCommitNothingIsLeft) {
  const TemporaryFolder folder;
  {
    FolderSink sink(folder / "out");
    add(sink, "a", "one");
    const auto unfinished = sink.add("b");
    unfinished->write(random_bytes(1'000'000));
  }
  EXPECT_TRUE(folder.entries().empty());
}

TEST(FolderSinkTest, ASignalsHandlerRemovesTheFolderAndItsFiles) {
  const TemporaryFolder folder;
  FolderSink sink(folder / "out");
  add(sink, "a", "one");
  add(sink, "b", "two");
  discard_temporaries();
  EXPECT_TRUE(folder.entries().empty());
}

TEST(FolderSinkTest, AnEmptyFolderKeepsItsPermissions) {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  for (const mode_t mode : {0700U, 02750U, 0755U}) {
    std::filesystem::remove_all(out);
    ASSERT_EQ(::mkdir(out.c_str(), 0755), 0);
    ASSERT_EQ(::chmod(out.c_str(), mode), 0);
    FolderSink sink(out);
    add(sink, "a", "one");
    struct stat status {};
    ASSERT_EQ(::stat(sink.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077U, 0U);  // until it is whole
    sink.commit();
    ASSERT_EQ(::stat(out.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, mode);
  }
}

TEST(FolderSinkTest, AnEmptyFolderIsReplaced) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "out");
  FolderSink sink(folder / "out/");
  add(sink, "a", "one");
  sink.commit();
  EXPECT_EQ(text_of(folder / "out/a"), "one");
}

TEST(FolderSinkTest, AnEmptyFolderIsRefusedWithNoClobber) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "out");
  const auto error = error_of([&] { FolderSink(folder / "out", {.no_clobber = true}); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_output());
}

TEST(FolderSinkTest, AFolderThatHoldsSomethingIsRefusedAndStands) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "out");
  put_file(folder / "out/notes", "mine");
  const auto error = error_of([&] { FolderSink(folder / "out"); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_output());
  EXPECT_EQ(text_of(folder / "out/notes"), "mine");
}

TEST(FolderSinkTest, WhatIsPutThereMeanwhileStands) {
  const TemporaryFolder folder;
  FolderSink sink(folder / "out");
  add(sink, "a", "one");
  std::filesystem::create_directory(folder / "out");
  put_file(folder / "out/notes", "mine");
  EXPECT_TRUE(error_of([&] { sink.commit(); }));
  EXPECT_EQ(text_of(folder / "out/notes"), "mine");
}

TEST(FolderSinkTest, AFileInItsPlaceIsRefused) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  EXPECT_TRUE(error_of([&] { FolderSink(folder / "out"); }));
  EXPECT_EQ(text_of(folder / "out"), "old");
}

TEST(FolderSinkTest, ANameThatLeadsOutOfTheFolderIsRefused) {
  const TemporaryFolder folder;
  FolderSink sink(folder / "out");
  for (const char* name : {"../a", "/a", "a/b", "..", ""}) EXPECT_TRUE(error_of([&] { (void)sink.add(name); })) << name;
}

TEST(FolderSinkTest, ADryRunCountsAndLeavesNoTrace) {
  const TemporaryFolder folder;
  FolderSink sink(folder / "out", {.dry_run = true});
  add(sink, "a", "one");
  EXPECT_TRUE(folder.entries().empty());
  sink.commit();
  EXPECT_EQ(sink.bytes(), 3u);
  EXPECT_TRUE(folder.entries().empty());
}

}  // namespace
}  // namespace ckpt
