#include "metrics/mcnemar.h"

#include <gtest/gtest.h>

namespace ckpt::eval {
namespace {

// Expected values: statsmodels.stats.contingency_tables.mcnemar([[0, lost], [gained, 0]], exact=…).pvalue.
TEST(McNemar, is_the_exact_binomial_test_for_few_pairs) {
  EXPECT_NEAR(mcnemar({1, 9}), 0.021484375, 1e-12);  // 2 * (1 + 10) / 1024
  EXPECT_NEAR(mcnemar({0, 5}), 0.0625, 1e-12);       // 2 / 32
  EXPECT_NEAR(mcnemar({6, 18}), 0.022655844688415527, 1e-12);
}

TEST(McNemar, is_chi_square_with_continuity_correction_for_many) {
  EXPECT_NEAR(mcnemar({86, 150}), 4.114562281345944e-05, 1e-15);
  EXPECT_NEAR(mcnemar({5, 20}), 0.005110260660855866, 1e-14);
}

TEST(McNemar, does_not_care_which_model_is_named_first) {
  EXPECT_EQ(mcnemar({3, 8}), mcnemar({8, 3}));
  EXPECT_EQ(mcnemar({30, 80}), mcnemar({80, 30}));
}

TEST(McNemar, finds_nothing_where_models_agree_or_differ_evenly) {
  EXPECT_EQ(mcnemar({0, 0}), 1);
  EXPECT_EQ(mcnemar({4, 4}), 1);
  EXPECT_EQ(mcnemar({400, 400}), 1);
}

TEST(McNemar, stays_a_probability_for_huge_counts) {
  EXPECT_EQ(mcnemar({UINT64_MAX / 2, 0}), 0);
  EXPECT_EQ(mcnemar({UINT64_MAX / 2, UINT64_MAX / 2}), 1);
}

}  // namespace
}  // namespace ckpt::eval
