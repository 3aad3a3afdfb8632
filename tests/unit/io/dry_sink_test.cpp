#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>

#include "ckpt/file_sink.h"
#include "ckpt/folder_sink.h"
#include "io/io_testing.h"

namespace ckpt {
namespace {

using io_testing::error_of;
using io_testing::TemporaryFolder;

TEST(DrySink, CountsAndLeavesNothing) {
  const TemporaryFolder folder;
  const auto sink = dry_sink(folder / "out.pt");
  sink->write(io_testing::bytes_of("12345"));
  EXPECT_TRUE(folder.entries().empty());
  sink->commit();
  EXPECT_EQ(sink->offset(), 5U);
  EXPECT_TRUE(folder.entries().empty());
}

TEST(DrySink, LeavesAnOldFile) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "out.pt", std::string_view("old"));
  const auto sink = dry_sink(folder / "out.pt");
  sink->write(io_testing::bytes_of("new"));
  sink->commit();
  EXPECT_EQ(io_testing::text_of(folder / "out.pt"), "old");
}

/// What a real sink and a dry one say of the path.
void expect_alike(const std::string& path, FileSinkOptions options = {}) {
  const auto real = error_of([&] { FileSink(path, options).commit(); });
  const auto dry = error_of([&] { dry_sink(path, options); });
  ASSERT_TRUE(real) << path;
  ASSERT_TRUE(dry) << path;
  EXPECT_STREQ(dry->what(), real->what());
  EXPECT_EQ(dry->hint(), real->hint());
  EXPECT_TRUE(dry->is_output());
}

TEST(DrySink, RefusesWhatARealOneRefuses) {
  const TemporaryFolder folder;
  io_testing::put_file(folder / "out.pt", std::string_view("old"));
  expect_alike(folder / "out.pt", {.no_clobber = true});
  expect_alike(folder / "nowhere/out.pt");
  expect_alike(folder.path());
  expect_alike("/dev/null");
  expect_alike("");
}

TEST(DrySink, RefusesAFolderThatCannotBeWrittenTo) {
  const TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0555);
  // Root may write anywhere.
  const auto as_somebody = [&] {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(2);
    expect_alike(folder / "out.pt");
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  };
  // Where there is no other user, nothing is seen.
  EXPECT_EXIT(
      as_somebody(), [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) != 1; }, "");
  ::chmod(folder.path().c_str(), 0700);
}

/// As a container does that is older than the call.
bool refuse_faccessat2() {
  std::array<sock_filter, 4> program{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                     sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_faccessat2, 0, 1),
                                     sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                     sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{program.size(), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(DrySink, WorksWhereACallIsRefused) {
  const TemporaryFolder folder;
  const auto in_container = [&] {
    if (!refuse_faccessat2()) ::_exit(2);
    const auto error = error_of([&] {
      dry_sink(folder / "out.pt");
      FolderSink(folder / "out", {.dry_run = true});
    });
    ::_exit(error ? 1 : 0);
  };
  // Where there are no filters, nothing is seen.
  EXPECT_EXIT(
      in_container(), [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) != 1; }, "");
}

TEST(DrySink, AsksNothingOfStandardOutput) { EXPECT_EQ(dry_sink("-")->offset(), 0U); }

}  // namespace
}  // namespace ckpt
