#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

#include "io/file_source.h"
#include "io/posix.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::Bytes;
using io_testing::error_of;
using io_testing::put_file;
using io_testing::random_bytes;
using io_testing::Redirected;
using io_testing::TemporaryFolder;

/// A pipe whose other end a thread fills and closes.
class FilledPipe {
 public:
  explicit FilledPipe(const Bytes& bytes) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    read_end_ = UniqueFd(ends[0]);
    writer_ = std::thread([fd = ends[1], bytes] {
      const UniqueFd write_end(fd);
      std::size_t done = 0;
      while (done < bytes.size()) {
        const ssize_t put = ::write(write_end.get(), bytes.data() + done, bytes.size() - done);
        if (put <= 0) return;
        done += static_cast<std::size_t>(put);
      }
    });
  }
  ~FilledPipe() { writer_.join(); }
  [[nodiscard]] int read_end() const { return read_end_.get(); }

 private:
  UniqueFd read_end_;
  std::thread writer_;
};

TEST(OpenFileTest, ReadsAtAnyOffset) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "f", "checkpoint");
  const auto source = open_file(folder / "f");
  std::array<std::byte, 4> out{};
  EXPECT_EQ(source->size(), 10u);
  EXPECT_EQ(source->name(), folder / "f");
  EXPECT_EQ(source->read_at(8, out), 2u);
  EXPECT_EQ(source->read_at(3, out), 4u);
  EXPECT_EQ(as_text(out), "ckpo");
}

TEST(OpenFileTest, SaysThatAFileIsMissing) {
  const auto error = error_of([] { (void)open_file("/nonexistent/m.pt"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_FALSE(error->is_output());
  EXPECT_STREQ(error->what(), "/nonexistent/m.pt: cannot open: No such file or directory");
}

TEST(OpenFileTest, RefusesAFolderWithAHint) {
  const TemporaryFolder folder;
  const auto error = error_of([&] { (void)open_file(folder.path()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_FALSE(error->hint().empty());
}

TEST(OpenFileTest, AFileThatShrinksIsAnErrorOfTheNextRead) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "f", Bytes(100'000));
  const auto source = open_file(folder / "f");
  std::filesystem::resize_file(folder / "f", 40'000);
  Bytes out(100'000);
  const auto error = error_of([&] { source->read_exactly(0, out); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_EQ(error->what(), folder / "f" + ": has changed while it was read and ends at byte 40000");
}

TEST(OpenFileTest, AFileThatGrowsIsAnErrorOfTheNextRead) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "f", Bytes(10));
  const auto source = open_file(folder / "f");
  std::filesystem::resize_file(folder / "f", 20);
  Bytes out(20);
  const auto error = error_of([&] { (void)source->read_at(0, out); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_EQ(error->what(), folder / "f" + ": has changed while it was read");
}

TEST(OpenFileTest, AFileThatIsOverwrittenIsAnErrorOfTheNextRead) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "f", "1234567890");
  std::filesystem::last_write_time(folder / "f", std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const auto source = open_file(folder / "f");
  io_testing::put_file(folder / "f", "abcdefghij");
  Bytes out(10);
  const auto error = error_of([&] { (void)source->read_at(0, out); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
}

TEST(OpenFileTest, AFileThatIsOnlyRenamedIsReadOn) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "f", "1234567890");
  const auto source = open_file(folder / "f");
  std::filesystem::rename(folder / "f", folder / "g");
  io_testing::put_file(folder / "f", "another one");
  EXPECT_EQ(as_text(read_all(*source, 10)), "1234567890");
}

TEST(OpenFileTest, SpoolsAPipeGivenByItsPath) {
  const Bytes bytes = random_bytes(300'001);
  const FilledPipe pipe(bytes);
  const auto source = open_file("/proc/self/fd/" + std::to_string(pipe.read_end()));
  EXPECT_EQ(source->size(), bytes.size());
  Bytes tail(1000);
  source->read_exactly(bytes.size() - 1000, tail);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), bytes.end() - 1000));
  EXPECT_EQ(read_all(*source, bytes.size()), bytes);
}

TEST(OpenFileTest, DashIsStandardInputFromAPipe) {
  const Bytes bytes = random_bytes(200'000);
  const FilledPipe pipe(bytes);
  const Redirected redirected(STDIN_FILENO, pipe.read_end());
  const auto source = open_file("-");
  EXPECT_EQ(source->name(), "standard input");
  EXPECT_EQ(read_all(*source, bytes.size()), bytes);
}

TEST(OpenFileTest, DashReadsAFileFromWhereItStands) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "f", "0123456789");
  const UniqueFd file(::open((folder / "f").c_str(), O_RDONLY));
  ::lseek(file.get(), 4, SEEK_SET);
  const Redirected redirected(STDIN_FILENO, file.get());
  EXPECT_EQ(as_text(read_all(*open_file("-"), 100)), "456789");
}

TEST(OpenFileTest, SaysWhereAPipeCannotBeSpooled) {
  const Bytes bytes(10);
  const FilledPipe pipe(bytes);
  const Redirected redirected(STDIN_FILENO, pipe.read_end());
  const char* before = ::getenv("TMPDIR");
  const std::optional<std::string> saved = before ? std::optional<std::string>(before) : std::nullopt;
  ::setenv("TMPDIR", "/nonexistent", 1);
  const auto error = error_of([] { (void)open_file("-"); });
  if (saved)
    ::setenv("TMPDIR", saved->c_str(), 1);
  else
    ::unsetenv("TMPDIR");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_NE(error->hint().find("TMPDIR"), std::string::npos);
}

TEST(OpenRegularFile, IsReadAsAnyFile) {
  const TemporaryFolder folder;
  put_file(folder / "f", "abc");
  const auto source = open_regular_file(folder / "f");
  EXPECT_EQ(as_text(read_all(*source, 100)), "abc");
  EXPECT_EQ(source->name(), folder / "f");
  EXPECT_EQ(source->folder(), folder.path());
}

// Either would never end.
TEST(OpenRegularFile, NeitherWaitsForAPipeNorReadsADevice) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", folder / "device");
  for (const char* name : {"pipe", "device"}) {
    const auto error = error_of([&] { (void)open_regular_file(folder / name); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code(), ErrorCode::unsupported) << name;
  }
}

TEST(OpenRegularFile, IsNoFolder) {
  const TemporaryFolder folder;
  const auto error = error_of([&] { (void)open_regular_file(folder.path()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
}

TEST(OpenFileTest, ReadsAFileThatSaysItIsEmpty) {
  if (!std::filesystem::exists("/proc/version")) GTEST_SKIP() << "no /proc";
  const auto source = open_file("/proc/version");
  EXPECT_GT(source->size(), 0U);
  const auto bytes = read_all(*source, 10'000);
  EXPECT_EQ(as_text(bytes).substr(0, 5), "Linux");
}

}  // namespace
}  // namespace ckpt
