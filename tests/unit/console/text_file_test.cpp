#include "console/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "io/io_testing.h"

namespace ckpt::tools {
namespace {

TEST(TextFile, replaces_a_file_whole) {
  const io_testing::TemporaryFolder folder;
  const std::string path = folder / "report.html";
  write_text_file(path, "old and long");
  write_text_file(path, "new");
  EXPECT_EQ(io_testing::text_of(path), "new");
  EXPECT_EQ(folder.entries().size(), 1U);
}

TEST(TextFile, to_no_folder_is_a_failure_of_the_output) {
  const auto error = io_testing::error_of([] { write_text_file("/no/such/folder/report.html", "text"); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(error->is_output());
}

TEST(TextFile, says_what_a_killed_run_left_beside_it) {
  const io_testing::TemporaryFolder folder;
  const std::string left = folder / ".ckpt-1-0.tmp";
  io_testing::put_file(left, "half");
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, left.c_str(), times, 0), 0);
  testing::internal::CaptureStderr();
  write_text_file(folder / "report.html", "new");
  EXPECT_NE(testing::internal::GetCapturedStderr().find(".ckpt-1-0.tmp beside it was left"), std::string::npos);
  EXPECT_EQ(folder.entries().size(), 1U);
}

}  // namespace
}  // namespace ckpt::tools
