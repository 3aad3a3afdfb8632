#include "container/tar_reader.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "formats/tar_files.h"

namespace ckpt {
namespace {

using io_testing::has;
using tar_testing::Entry;
using tar_testing::source_of;
using tar_testing::tar_of;
using Names = std::vector<std::string>;

Names names_in(const std::string& tar) {
  Names names;
  for (const TarMember& member : read_tar(*source_of(tar))) names.push_back(member.name);
  return names;
}

std::string text_of(const std::string& tar, std::size_t index) {
  const auto source = source_of(tar);
  return std::string(as_text(read_all(*open_tar_member(source, read_tar(*source)[index]), 1 << 20)));
}

std::string refused(const std::string& tar) {
  const auto error = io_testing::error_of([&] { read_tar(*source_of(tar)); });
  return error ? error->what() : "read";
}

TEST(TarReader, ListsMembersInOrder) {
  const std::string tar = tar_of({{"b", "two"}, {"a", std::string(513, 'x')}, {"folder/", "", '5'}, {"c", "three"}});
  EXPECT_EQ(names_in(tar), (Names{"b", "a", "folder", "c"}));
  EXPECT_EQ(text_of(tar, 0), "two");
  EXPECT_EQ(text_of(tar, 1), std::string(513, 'x'));
  EXPECT_EQ(text_of(tar, 3), "three");
}

TEST(TarReader, TellsFilesFromFoldersAndLinks) {
  const auto members =
      read_tar(*source_of(tar_of({{"f", "x"}, {"d/", "", '5'}, {"old/", ""}, {"l", "", '2'}, {"h", "", '1'}})));
  ASSERT_EQ(members.size(), 5U);
  EXPECT_EQ(members[0].kind, TarMember::Kind::file);
  EXPECT_EQ(members[1].kind, TarMember::Kind::folder);
  EXPECT_EQ(members[2].kind, TarMember::Kind::folder);
  EXPECT_EQ(members[3].kind, TarMember::Kind::other);
  EXPECT_EQ(members[4].kind, TarMember::Kind::other);
}

TEST(TarReader, ADotInFrontIsTheFolderItself) {
  EXPECT_EQ(names_in(tar_of({{"./", "", '5'}, {"./a", "x"}, {"./b/c", "y"}})), (Names{"", "a", "b/c"}));
}

TEST(TarReader, LongNamesAreGnus) {
  const std::string name(200, 'n');
  EXPECT_EQ(names_in(tar_of({{"././@LongLink", name + '\0', 'L'}, {"short", "x"}, {"b", "y"}})), (Names{name, "b"}));
}

TEST(TarReader, LongNamesAreUstars) {
  EXPECT_EQ(names_in(tar_of({{.name = "name", .data = "x", .prefix = "some/folder"}})), (Names{"some/folder/name"}));
}

TEST(TarReader, LongNamesAndSizesArePaxs) {
  const std::string records = "17 path=long/er.\n9 size=3\n19 comment=nothing\n";
  const std::string tar = tar_of({{"PaxHeaders/x", records, 'x'}, {.name = "short", .data = "abc", .size = "0000"}});
  EXPECT_EQ(names_in(tar), (Names{"long/er."}));
  EXPECT_EQ(text_of(tar, 0), "abc");
}

TEST(TarReader, ASlashAtTheEndOfWhatIsLeftOfALongNameIsNoFolders) {
  const std::string folder(99, 'd'), path = folder + "/m.pt", records = "114 path=" + path + "\n";
  ASSERT_EQ(records.size(), 114U);
  const std::string tar = tar_of({{"PaxHeaders/x", records, 'x'}, {.name = folder + "/", .data = "abc"}});
  const auto members = read_tar(*source_of(tar));
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members[0].name, path);
  EXPECT_EQ(members[0].kind, TarMember::Kind::file);
}

TEST(TarReader, WhatHasBytesIsNoFolderForASlash) {
  const auto members = read_tar(*source_of(tar_of({{"m.pt/", "abc"}})));
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(members[0].kind, TarMember::Kind::file) << "tarfile of Python unpacks it as one";
}

TEST(TarReader, SizesMayBeInBase256) {
  const std::string size = std::string("\x80") + std::string(10, '\0') + "\3";
  EXPECT_EQ(text_of(tar_of({{.name = "a", .data = "abc", .size = size}}), 0), "abc");
}

TEST(TarReader, HeadersOfUnixV7HaveNoMagic) {
  EXPECT_EQ(names_in(tar_of({{.name = "a", .data = "x", .magic = ""}})), (Names{"a"}));
}

TEST(TarReader, TheEndMayBeMissing) { EXPECT_EQ(names_in(tar_of({{"a", "x"}}, false)), (Names{"a"})); }

TEST(TarReader, KnowsATarByItsChecksum) {
  EXPECT_TRUE(is_tar(*source_of(tar_of({{"a", "x"}}))));
  EXPECT_FALSE(is_tar(*source_of(tar_of({{.name = "a", .data = "x", .checksum_error = 1}}))));
  EXPECT_FALSE(is_tar(*source_of(std::string(2048, '\0'))));
  EXPECT_FALSE(is_tar(*source_of("ustar")));
}

TEST(TarReader, RefusesAWrongChecksum) {
  EXPECT_TRUE(has(refused(tar_of({{"a", "x"}, {.name = "b", .data = "y", .checksum_error = 1}})), "checksum"));
}

TEST(TarReader, RefusesACut) {
  const std::string tar = tar_of({{"a", std::string(1000, 'x')}}, false);
  EXPECT_TRUE(has(refused(tar.substr(0, 800)), "a member of 1000 bytes, where 288 are left"));
  EXPECT_TRUE(has(refused(tar + tar.substr(0, 100)), "ends within a header"));
}

TEST(TarReader, RefusesSizesPastEveryEnd) {
  EXPECT_TRUE(has(refused(tar_of({{.name = "a", .data = "", .size = "77777777777"}})), "a member of 8589934591 bytes"));
  const std::string huge = "\x80" + std::string(3, '\0') + std::string(8, '\xff');
  EXPECT_TRUE(has(refused(tar_of({{.name = "a", .data = "", .size = huge}})), "a number below 2^63"));
  const std::string larger = "\x80" + std::string(11, '\xff');
  EXPECT_TRUE(has(refused(tar_of({{.name = "a", .data = "", .size = larger}})), "a number below 2^63"));
}

TEST(TarReader, RefusesNamesThatLeadOut) {
  for (const std::string name : {"/etc/passwd", "../a", "a/../../b", "a/..", ".."})
    EXPECT_TRUE(has(refused(tar_of({{name, "x"}})), "a member named '" + name.substr(0, 80))) << name;
}

TEST(TarReader, RefusesTwoMembersOfOneName) {
  EXPECT_TRUE(has(refused(tar_of({{"a", "x"}, {"./a", "y"}})), "two members named './a'"));
}

TEST(TarReader, RefusesBrokenPaxRecords) {
  for (const std::string records : {"5 path\n", "999 path=a\n", "x path=a\n", "9 size=x\n", "8 path=a\n"})
    EXPECT_TRUE(has(refused(tar_of({{"h", records, 'x'}, {"a", "x"}})), "pax header")) << records;
}

TEST(TarReader, RefusesSparseFiles) {
  EXPECT_TRUE(has(refused(tar_of({{"a", "x", 'S'}})), "sparse"));
  EXPECT_TRUE(has(refused(tar_of({{"h", "22 GNU.sparse.major=1\n", 'x'}, {"a", "x"}})), "sparse"));
}

TEST(TarReader, RefusesANameWithoutItsMember) {
  EXPECT_TRUE(has(refused(tar_of({{"a", "x"}, {"././@LongLink", "name", 'L'}})), "does not come"));
}

}  // namespace
}  // namespace ckpt
