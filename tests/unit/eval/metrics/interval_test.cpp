#include "metrics/interval.h"

#include <gtest/gtest.h>

namespace ckpt::eval {
namespace {

// R. G. Newcombe, «Two-sided confidence intervals for the single proportion» (1998), table I, method 3.
TEST(Wilson, agrees_with_published_intervals) {
  const auto expect = [](std::uint64_t correct, std::uint64_t samples, double low, double high) {
    const Interval interval = wilson(correct, samples);
    EXPECT_NEAR(interval.low, low, 5e-5) << correct << " of " << samples;
    EXPECT_NEAR(interval.high, high, 5e-5) << correct << " of " << samples;
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0.0000, 0.1611);
  expect(1, 29, 0.0061, 0.1718);
}

// statsmodels.stats.proportion.proportion_confint(9771, 10000, method="wilson")
TEST(Wilson, agrees_with_statsmodels) {
  EXPECT_NEAR(wilson(9771, 10000).low, 0.973979830910928, 1e-14);
  EXPECT_NEAR(wilson(9771, 10000).high, 0.9798537578437723, 1e-14);
}

TEST(Wilson, ends_exactly_at_nothing_and_at_everything) {
  EXPECT_EQ(wilson(0, 7).low, 0);
  EXPECT_EQ(wilson(7, 7).high, 1);
  EXPECT_LT(wilson(7, 7).low, 1);
}

TEST(Wilson, knows_nothing_of_no_samples) {
  EXPECT_EQ(wilson(0, 0).low, 0);
  EXPECT_EQ(wilson(0, 0).high, 1);
}

}  // namespace
}  // namespace ckpt::eval
