#include "io/paths.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(PathsTest, TheFolderOfAPathIsWhatStandsBeforeItsLastPart) {
  EXPECT_EQ(folder_of("a/b/c"), "a/b");
  EXPECT_EQ(folder_of("a"), ".");
  EXPECT_EQ(folder_of("/a"), "/");
}

TEST(PathsTest, NamesBelowStayInside) {
  for (const char* name : {"a", "a/b", "a..b", "..a", ".metadata"}) EXPECT_TRUE(stays_inside(name)) << name;
}

TEST(PathsTest, NamesThatLeadElsewhereDoNot) {
  for (const char* name : {"", "/a", "../a", "a/../b", "a/..", "a//b", "./a", "a/"})
    EXPECT_FALSE(stays_inside(name)) << name;
  EXPECT_FALSE(stays_inside(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace ckpt
