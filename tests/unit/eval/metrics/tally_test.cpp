#include "metrics/tally.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ckpt::eval {
namespace {

/// Two positions of two classes; ten samples, of which one is not finite.
Counts small() { return {10, 5, 1, {4, 1, 2, 2, 3, 0, 0, 6}}; }
const Signature signature{{4}, 0, 1, 2, 2, "ab"};

TEST(Tally, of_positions_counts_all_samples) {
  const auto tallies = per_position(signature, small());
  ASSERT_EQ(tallies.size(), 2U);
  EXPECT_EQ(tallies[0].correct, 6U);
  EXPECT_EQ(tallies[0].samples, 10U);
  EXPECT_EQ(tallies[1].correct, 9U);
}

TEST(Tally, of_classes_adds_the_positions_up) {
  const auto tallies = per_class(signature, small());
  ASSERT_EQ(tallies.size(), 2U);
  EXPECT_EQ(tallies[0].samples, 8U);  // 4 + 1 + 3 + 0
  EXPECT_EQ(tallies[0].correct, 7U);
  EXPECT_EQ(tallies[1].samples, 10U);  // 2 + 2 + 0 + 6
  EXPECT_EQ(tallies[1].correct, 8U);
  EXPECT_DOUBLE_EQ(tallies[1].accuracy(), 0.8);
}

TEST(Tally, of_nothing_has_no_accuracy) {
  EXPECT_TRUE(std::isnan(per_class(signature, {}).at(0).accuracy()));
  EXPECT_TRUE(std::isnan(per_position(signature, {}).at(1).accuracy()));
}

TEST(Counts, add_up_and_have_an_accuracy) {
  Counts counts = small();
  counts += small();
  EXPECT_EQ(counts.samples, 20U);
  EXPECT_EQ(counts.not_finite, 2U);
  EXPECT_EQ(counts.confusion[7], 12U);
  EXPECT_DOUBLE_EQ(counts.accuracy(), 0.5);
  EXPECT_TRUE(std::isnan(Counts().accuracy()));
}

}  // namespace
}  // namespace ckpt::eval
