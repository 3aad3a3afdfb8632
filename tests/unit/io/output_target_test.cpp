#include "io/output_target.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <vector>

#include "ckpt/file_sink.h"
#include "ckpt/folder_sink.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::put_file;
using io_testing::TemporaryFolder;

constexpr const char *access_list = "system.posix_acl_access", *default_list = "system.posix_acl_default";
constexpr gid_t other_group = 4711;

struct Entry {
  std::uint16_t tag, rights;
  std::uint32_t id = UINT32_MAX;
};
constexpr std::uint16_t of_owner = 1, of_user = 2, of_group = 4, of_mask = 16, of_all = 32;

/// acl(5) in the kernel's form, uapi/linux/posix_acl_xattr.h: that user 1000 may read and write, and the group nothing.
std::vector<char> list_for_a_user() {
  const std::vector<Entry> entries{{of_owner, 7}, {of_user, 6, 1000}, {of_group, 0}, {of_mask, 6}, {of_all, 0}};
  std::vector<char> list(4 + entries.size() * sizeof(Entry));
  const std::uint32_t version = 2;
  std::memcpy(list.data(), &version, sizeof version);
  std::memcpy(list.data() + 4, entries.data(), entries.size() * sizeof(Entry));
  return list;
}

bool give(const std::string& path, const char* name, const std::vector<char>& list) {
  return ::setxattr(path.c_str(), name, list.data(), list.size(), 0) == 0;
}

std::vector<char> list_of(const std::string& path, const char* name) {
  std::vector<char> list(1000);
  list.resize(static_cast<std::size_t>(std::max<ssize_t>(::getxattr(path.c_str(), name, list.data(), 1000), 0)));
  return list;
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status;
}

void replace(const std::string& path) {
  FileSink sink(path);
  sink.write(as_bytes("new"));
  sink.commit();
}

TEST(OutputTarget, WhatAnAccessListGrantsIsGrantedAgain) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  if (!give(folder / "out", access_list, list_for_a_user())) GTEST_SKIP() << "no access lists in " << folder.path();
  replace(folder / "out");
  EXPECT_EQ(list_of(folder / "out", access_list), list_for_a_user());
}

TEST(OutputTarget, WhatTheFolderWouldGrantIsNotGranted) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  ASSERT_EQ(::chmod((folder / "out").c_str(), 0660), 0);
  if (!give(folder.path(), default_list, list_for_a_user())) GTEST_SKIP() << "no access lists in " << folder.path();
  replace(folder / "out");
  EXPECT_TRUE(list_of(folder / "out", access_list).empty());
  EXPECT_EQ(status_of(folder / "out").st_mode & 0777, 0660U);
  replace(folder / "fresh");
  EXPECT_FALSE(list_of(folder / "fresh", access_list).empty());
}

TEST(OutputTarget, FilesOfAFolderGetItsGroupAndWhatItGrants) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "out");
  if (::chown((folder / "out").c_str(), static_cast<uid_t>(-1), other_group) != 0)
    GTEST_SKIP() << "only root gives files to any group";
  ASSERT_EQ(::chmod((folder / "out").c_str(), 02770), 0);
  const bool has_list = give(folder / "out", default_list, list_for_a_user());
  FolderSink sink(folder / "out");
  sink.add("a")->commit();
  EXPECT_EQ(status_of(sink.path()).st_mode & 0077, 0U);  // not before it stands there
  sink.commit();
  EXPECT_EQ(status_of(folder / "out").st_mode & 07777, 02770U);
  EXPECT_EQ(status_of(folder / "out").st_gid, other_group);
  EXPECT_EQ(status_of(folder / "out/a").st_gid, other_group);
  if (has_list) {
    EXPECT_FALSE(list_of(folder / "out/a", access_list).empty());
    EXPECT_EQ(list_of(folder / "out", default_list), list_for_a_user());
  }
}

TEST(OutputTarget, WhatStandsInAStickyFolderIsItsOwnersToReplace) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  ASSERT_EQ(::mkdir((folder / "empty").c_str(), 0777), 0);
  for (const char* name : {"out", "empty"}) {
    ASSERT_EQ(::chmod((folder / name).c_str(), 0777), 0);
    if (::chown((folder / name).c_str(), 1001, 1001) != 0) GTEST_SKIP() << "only root gives files away";
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  const auto as_user = [&](uid_t user, auto open) {
    if (::setresuid(user, user, user) != 0) ::_exit(2);
    const auto error = io_testing::error_of(open);
    ::_exit(!error ? 0 : io_testing::has(error->hint(), "sticky") ? 1 : 3);
  };
  const auto file = [&] { FileSink(folder / "out"); };
  const auto empty = [&] { FolderSink(folder / "empty"); };
  EXPECT_EXIT(as_user(1001, file), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(as_user(1002, file), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(as_user(1001, empty), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(as_user(1002, empty), testing::ExitedWithCode(1), "");
}

TEST(OutputTarget, TheGroupIsKeptWhereTheOwnerCannotBe) {
  const TemporaryFolder folder;
  put_file(folder / "out", "old");
  ASSERT_EQ(::chmod((folder / "out").c_str(), 0664), 0);
  if (::chown((folder / "out").c_str(), 1001, other_group) != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const gid_t groups[] = {other_group};
    const bool is_other =
        ::setgroups(1, groups) == 0 && ::setresgid(1002, 1002, 1002) == 0 && ::setresuid(1002, 1002, 1002) == 0;
    if (is_other) replace(folder / "out");
    ::_exit(is_other ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(status_of(folder / "out").st_uid, 1002U);
  EXPECT_EQ(status_of(folder / "out").st_gid, other_group);
  EXPECT_EQ(status_of(folder / "out").st_mode & 0777, 0664U);
}

}  // namespace
}  // namespace ckpt
