#include "pickle/global_uses.h"

#include <gtest/gtest.h>

namespace ckpt::pickle {
namespace {

TEST(GlobalUses, HasEachNameOnce) {
  std::vector<GlobalUse> list{{"a", "x", Verdict::known, 1}};
  GlobalUses uses(list);
  uses.add({"a", "x", Verdict::known, 5});
  uses.add({"a", "y", Verdict::unknown, 7});
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].offset, 1U);
  EXPECT_EQ(list[1].name, "y");
}

TEST(GlobalUses, KeepsTheWorstVerdictAndItsPlace) {
  std::vector<GlobalUse> list{{"a", "x", Verdict::known, 1}};
  GlobalUses uses(list);
  uses.add({"a", "x", Verdict::dangerous, 5});
  uses.add({"a", "x", Verdict::unknown, 9});
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].verdict, Verdict::dangerous);
  EXPECT_EQ(list[0].offset, 5U);
}

TEST(GlobalUses, CountsPlacesFromWhereThePickleBegins) {
  std::vector<GlobalUse> list;
  const GlobalUse use[] = {{"a", "x", Verdict::known, 3}};
  GlobalUses(list).add(use, 100);
  EXPECT_EQ(list[0].offset, 103U);
}

}  // namespace
}  // namespace ckpt::pickle
