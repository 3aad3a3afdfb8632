#include "io/file_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "ckpt/limits.h"
#include "io/io_testing.h"

namespace ckpt {
namespace {

using io_testing::bytes_of;
using io_testing::error_of;
using io_testing::put_file;
using io_testing::TemporaryFolder;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::string text_in(const ByteSource& source) {
  const auto bytes = read_all(source, 1000);
  return std::string(as_text(bytes));
}

TEST(FilePoolTest, ManyFilesAreReadWithFewOfThemOpen) {
  const TemporaryFolder folder;
  FilePool pool;
  std::vector<ByteSourcePtr> sources;
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    const std::string path = folder / std::to_string(i);
    put_file(path, "file " + std::to_string(i));
    sources.push_back(pool.open(path));
    EXPECT_EQ(text_in(*sources.back()), "file " + std::to_string(i));
  }
  EXPECT_LE(open_descriptors(), before + limits::open_files);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(text_in(*sources[static_cast<std::size_t>(i)]), "file " + std::to_string(i));
}

TEST(FilePoolTest, ASourceOutlivesThePool) {
  const TemporaryFolder folder;
  put_file(folder / "a", "still here");
  const ByteSourcePtr source = FilePool().open(folder / "a");
  EXPECT_EQ(text_in(*source), "still here");
  EXPECT_EQ(source->folder(), folder.path());
}

TEST(FilePoolTest, AFileThatChangedWhileItWasClosedIsAnError) {
  const TemporaryFolder folder;
  FilePool pool;
  put_file(folder / "a", "first");
  const ByteSourcePtr source = pool.open(folder / "a");
  EXPECT_EQ(text_in(*source), "first");
  std::vector<ByteSourcePtr> others;  // enough of them that it is closed
  for (std::size_t i = 0; i < limits::open_files; ++i) {
    put_file(folder / std::to_string(i), "other");
    others.push_back(pool.open(folder / std::to_string(i)));
    EXPECT_EQ(text_in(*others.back()), "other");
  }
  put_file(folder / "a", "second and longer");
  const auto error = error_of([&] { text_in(*source); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
}

TEST(FilePoolTest, AnotherFileOfTheSameSizeAndTimeIsAnError) {
  const TemporaryFolder folder;
  put_file(folder / "a", "first");
  put_file(folder / "b", "other");
  std::filesystem::last_write_time(folder / "b", std::filesystem::last_write_time(folder / "a"));
  const ByteSourcePtr source = FilePool().open(folder / "a");
  std::filesystem::rename(folder / "b", folder / "a");
  const auto error = error_of([&] { text_in(*source); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
}

TEST(FilePoolTest, AFileThatIsNotThereIsAnError) {
  const TemporaryFolder folder;
  const auto error = error_of([&] { static_cast<void>(FilePool().open(folder / "a")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
}

TEST(FilePoolTest, APipeIsRefused) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "a").c_str(), 0600), 0);
  const auto error = error_of([&] { static_cast<void>(FilePool().open(folder / "a")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
}

TEST(FilePoolTest, AFileThatBecameAPipeWhileItWasClosedIsRefused) {
  const TemporaryFolder folder;
  put_file(folder / "a", "first");
  const ByteSourcePtr source = FilePool().open(folder / "a");
  std::filesystem::remove(folder / "a");
  ASSERT_EQ(::mkfifo((folder / "a").c_str(), 0600), 0);
  const auto error = error_of([&] { text_in(*source); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
}

TEST(FilePoolTest, AChangeOfModeOrLinksIsNone) {
  const TemporaryFolder folder;
  put_file(folder / "a", "first");
  const ByteSourcePtr source = FilePool().open(folder / "a");
  struct statx status {};
  if (::statx(AT_FDCWD, (folder / "a").c_str(), 0, STATX_BTIME, &status) != 0 || (status.stx_mask & STATX_BTIME) == 0)
    GTEST_SKIP() << "the file system does not tell when a file was made";
  ASSERT_EQ(::chmod((folder / "a").c_str(), 0640), 0);
  std::filesystem::create_hard_link(folder / "a", folder / "b");
  EXPECT_EQ(text_in(*source), "first");
}

TEST(FilePoolTest, AFileIsFoundFromAnotherFolder) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  put_file("a", "first");
  const ByteSourcePtr source = FilePool().open("a");
  std::filesystem::current_path(before);
  EXPECT_EQ(text_in(*source), "first");
  EXPECT_EQ(source->name(), "a");
}

}  // namespace
}  // namespace ckpt
