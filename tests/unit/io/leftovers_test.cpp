#include "io/leftovers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "ckpt/file_sink.h"
#include "ckpt/folder_sink.h"
#include "io/posix.h"
#include "io/temporaries.h"
#include "io_testing.h"

namespace ckpt {
namespace {

using io_testing::bytes_of;
using io_testing::put_file;
using io_testing::TemporaryFolder;
using Names = std::vector<std::string>;

constexpr std::time_t an_hour = 3600;

void age(const std::string& path, std::time_t seconds) {
  const timespec then{std::time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

void put_old(const std::string& path) {
  put_file(path, bytes_of("left"));
  age(path, 2 * an_hour);
}

Names removed_from(const TemporaryFolder& folder) {
  const UniqueFd open(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Names names = remove_leftovers(open.get());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Leftovers, old_temporaries_go_and_nothing_else) {
  const TemporaryFolder folder;
  put_old(folder / ".ckpt-12-0.tmp");
  put_old(folder / ".ckpt-4194304-18446744073709551615.tmp");
  const Names others{".ckpt--0.tmp",  ".ckpt-1-0.tmp.gz", ".ckpt-1-0x.tmp", ".ckpt-1.tmp",
                     ".ckpt-x-0.tmp", "a.ckpt-1-0.tmp",   "ckpt-1-0.tmp",   "model.pt"};
  for (const std::string& name : others) put_old(folder / name);
  EXPECT_EQ(removed_from(folder), (Names{".ckpt-12-0.tmp", ".ckpt-4194304-18446744073709551615.tmp"}));
  Names left = folder.entries();
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, others);
}

TEST(Leftovers, one_that_was_written_to_within_the_hour_stays) {
  const TemporaryFolder folder;
  put_file(folder / ".ckpt-1-0.tmp", bytes_of("new"));
  put_old(folder / ".ckpt-1-1.tmp");
  age(folder / ".ckpt-1-1.tmp", an_hour - 60);
  EXPECT_EQ(removed_from(folder), Names{});
  age(folder / ".ckpt-1-1.tmp", an_hour);
  EXPECT_EQ(removed_from(folder), Names{".ckpt-1-1.tmp"});
}

TEST(Leftovers, one_that_is_held_stays) {
  const TemporaryFolder folder;
  put_old(folder / ".ckpt-1-0.tmp");
  {
    const UniqueFd file(::open((folder / ".ckpt-1-0.tmp").c_str(), O_RDWR | O_CLOEXEC));
    hold_temporary(file.get());
    EXPECT_EQ(removed_from(folder), Names{});
  }
  EXPECT_EQ(removed_from(folder), Names{".ckpt-1-0.tmp"});
}

TEST(Leftovers, a_link_leads_nowhere) {
  const TemporaryFolder folder;
  put_old(folder / "model.pt");
  std::filesystem::create_symlink("model.pt", folder / ".ckpt-1-0.tmp");
  age(folder / ".ckpt-1-0.tmp", 2 * an_hour);
  EXPECT_EQ(removed_from(folder), Names{});
  EXPECT_TRUE(std::filesystem::exists(folder / "model.pt"));
}

TEST(Leftovers, a_folder_goes_with_its_files) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / ".ckpt-1-0.tmp");
  put_old(folder / ".ckpt-1-0.tmp/a");
  put_old(folder / ".ckpt-1-0.tmp/b");
  age(folder / ".ckpt-1-0.tmp", 2 * an_hour);
  EXPECT_EQ(removed_from(folder), Names{".ckpt-1-0.tmp"});
  EXPECT_TRUE(folder.entries().empty());
}

TEST(Leftovers, a_folder_that_holds_what_is_new_or_no_file_stays_whole) {
  const TemporaryFolder folder;
  for (const std::string name : {".ckpt-1-0.tmp", ".ckpt-1-1.tmp"}) {
    std::filesystem::create_directory(folder / name);
    put_old(folder / (name + "/a"));
  }
  put_file(folder / ".ckpt-1-0.tmp/new", "");
  std::filesystem::create_directory(folder / ".ckpt-1-1.tmp/deeper");
  for (const std::string name : {".ckpt-1-0.tmp", ".ckpt-1-1.tmp"}) age(folder / name, 2 * an_hour);
  EXPECT_EQ(removed_from(folder), Names{});
  EXPECT_TRUE(std::filesystem::exists(folder / ".ckpt-1-0.tmp/a"));
  EXPECT_TRUE(std::filesystem::exists(folder / ".ckpt-1-1.tmp/a"));
}

// Of root's runs it may be, which give the file to the owner of what it replaces.
TEST(Leftovers, somebody_elses_stays_but_where_this_is_root) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  put_old(folder / ".ckpt-1-0.tmp");
  ASSERT_EQ(::chown((folder / ".ckpt-1-0.tmp").c_str(), 65534, 65534), 0);
  ASSERT_EQ(::seteuid(1002), 0);
  const Names removed_by_another = removed_from(folder);
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(removed_by_another, Names{});
  EXPECT_EQ(removed_from(folder), Names{".ckpt-1-0.tmp"});
}

TEST(Leftovers, what_is_read_stays) {
  const TemporaryFolder folder;
  put_old(folder / ".ckpt-1-0.tmp");
  std::filesystem::create_directory(folder / ".ckpt-2-0.tmp");
  put_old(folder / ".ckpt-2-0.tmp/shard");
  age(folder / ".ckpt-2-0.tmp", 2 * an_hour);
  {
    const ByteSourcePtr file = open_file(folder / ".ckpt-1-0.tmp"), shard = open_file(folder / ".ckpt-2-0.tmp/shard");
    EXPECT_EQ(removed_from(folder), Names{});
  }
  EXPECT_EQ(removed_from(folder), (Names{".ckpt-1-0.tmp", ".ckpt-2-0.tmp"}));
}

TEST(Leftovers, sinks_remove_them_and_hold_their_own) {
  const TemporaryFolder folder;
  put_old(folder / ".ckpt-1-0.tmp");
  FolderSink first(folder / "shards");
  EXPECT_EQ(first.removed(), Names{".ckpt-1-0.tmp"});
  const auto file = first.add("a");
  file->write(as_bytes("one"));
  file->commit();
  age(first.path() + "/a", 2 * an_hour);
  age(first.path(), 2 * an_hour);
  const FileSink second(folder / "model.pt");
  EXPECT_EQ(second.removed(), Names{});
  first.commit();
  EXPECT_EQ(io_testing::text_of(folder / "shards/a"), "one");
}

TEST(Leftovers, names_are_those_that_are_made) {
  const TemporaryFolder folder;
  const UniqueFd open(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(is_temporary_name(TemporaryName(open.get()).name()));
}

}  // namespace
}  // namespace ckpt
