#include "captcha/early_stopping.h"

#include <gtest/gtest.h>

#include <limits>

#include "captcha/split.h"

namespace captcha {
namespace {

/// Epochs that are run, of a training that would see these accuracies and then `rest` for ever.
int epochs_run(const std::vector<double>& accuracies, double rest) {
  EarlyStopping stopping;
  int epochs = 0;
  while (!stopping.over() && epochs < 9999) {
    const auto i = static_cast<std::size_t>(epochs++);
    stopping.is_best(i < accuracies.size() ? accuracies[i] : rest);
  }
  return epochs;
}

TEST(EarlyStopping, EndsAtTheTwentyFirstEpochWithoutABetterOne) {
  EXPECT_EQ(epochs_run({0.5}, 0.4), 1 + 21);
  EXPECT_EQ(epochs_run({0.1, 0.2, 0.9}, 0.3), 3 + 21);
}

TEST(EarlyStopping, EqualIsNotBetter) { EXPECT_EQ(epochs_run({0.5}, 0.5), 1 + 21); }

TEST(EarlyStopping, ABetterEpochBeginsTheCountAgain) {
  std::vector<double> accuracies(21, 0.5);  // 20 without a better one
  accuracies.push_back(0.6);
  EXPECT_EQ(epochs_run(accuracies, 0.6), 22 + 21);
}

TEST(EarlyStopping, NothingRightAtAllIsBestOnce) {
  EarlyStopping stopping;
  EXPECT_TRUE(stopping.is_best(0));
  EXPECT_FALSE(stopping.is_best(0));
  EXPECT_TRUE(stopping.is_best(0.01));
  EXPECT_EQ(stopping.best(), 0.01);
}

TEST(EarlyStopping, NaNIsNeverBest) {
  EarlyStopping stopping;
  EXPECT_FALSE(stopping.is_best(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(epochs_run({}, std::numeric_limits<double>::quiet_NaN()), 21);
}

TEST(Split, IsEightyTenTenAsPythonCutsIt) {
  const auto parts = split(1000);
  EXPECT_EQ(parts[0].end, 800);
  EXPECT_EQ(parts[1].end, 900);
  EXPECT_EQ(parts[2].end, 1000);
  EXPECT_EQ(split(15)[0].end, 12);  // int(0.8 * 15)
  EXPECT_EQ(split(15)[1].end, 13);  // int(0.9 * 15)
}

}  // namespace
}  // namespace captcha
