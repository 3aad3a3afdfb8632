#include "ops/renames.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

std::string change(std::string_view a, std::string_view b) {
  const auto [lead, from, to] = prefix_change(a, b);
  return lead + "|" + from + "|" + to;
}

TEST(Renames, ChangeStandsBetweenWhatBothBeginAndEndWith) {
  EXPECT_EQ(change("module.fc.weight", "fc.weight"), "|module.|");
  EXPECT_EQ(change("model.module.fc", "model.fc"), "model.|module.|");
  EXPECT_EQ(change("module.module.x", "module.x"), "|module.|");
  EXPECT_EQ(change("net.a.x", "model.a.x"), "|net.|model.");
  EXPECT_EQ(change("fc1.weight", "1.weight"), "|fc1.|1.");
}

TEST(Renames, EqualContentIsMatchedAndNothingElse) {
  EXPECT_EQ(match_renames({{"a", "1"}, {"b", "2"}}, {{"x", "2"}, {"y", "3"}}), (Matches{{1, 0}}));
}

TEST(Renames, EqualContentsFollowThePrefixThatExplainsOthers) {
  // All biases are alike; the weights tell that "module." was put before.
  const std::vector<Candidate> a{{"b.bias", "0"}, {"a.bias", "0"}, {"a.weight", "1"}};
  const std::vector<Candidate> b{{"module.a.bias", "0"}, {"module.a.weight", "1"}, {"module.b.bias", "0"}};
  EXPECT_EQ(match_renames(a, b), (Matches{{0, 2}, {1, 0}, {2, 1}}));
}

TEST(Renames, WithoutAnythingUniqueAPrefixIsStillFound) {
  const std::vector<Candidate> a{{"y", "0"}, {"x", "0"}}, b{{"m.y", "0"}, {"m.x", "0"}};
  EXPECT_EQ(match_renames(a, b), (Matches{{0, 0}, {1, 1}}));
}

TEST(Renames, EachNameIsUsedOnce) {
  EXPECT_EQ(match_renames({{"a", "0"}, {"b", "0"}, {"c", "0"}}, {{"x", "0"}, {"y", "0"}}).size(), 2U);
}

TEST(Renames, NamesFarLongerThanAModelsGiveNoPrefix) {
  const std::string most(4094, 'a');
  const std::vector<Candidate> a{{"w", "0"}, {"v", "0"}};
  EXPECT_EQ(match_renames(a, {{most + ".v", "0"}, {"x", "0"}}), (Matches{{0, 1}, {1, 0}}));
  EXPECT_EQ(match_renames(a, {{most + "a.v", "0"}, {"x", "0"}}), (Matches{{0, 0}, {1, 1}}));
}

TEST(Renames, CommonChangeHoldsForAll) {
  const auto all = common_change({{"module.a.w", "a.w"}, {"module.b", "b"}});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->a, "module.");
  EXPECT_EQ(all->b, "");
  EXPECT_FALSE(common_change({{"module.a.w", "a.w"}, {"c", "d"}}));
  EXPECT_FALSE(common_change({{"a.weight", "b.weight"}})) << "one name is no prefix";
}

}  // namespace
}  // namespace ckpt
