#include "ops/moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace ckpt {
namespace {

template <class T>
Moments moments_of(const std::vector<T>& numbers) {
  Moments moments;
  for (std::size_t at = 0; at < numbers.size(); at += moments_block)
    add_numbers<T>(moments, std::as_bytes(std::span(numbers)).data() + at * sizeof(T),
                   std::min(moments_block, numbers.size() - at));
  return moments;
}

std::vector<double> counted(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  return numbers;
}

TEST(Moments, OfAnyNumberOfNumbersLeaveNoneOut) {
  for (const std::size_t count : {1U, 3U, 15U, 16U, 17U, 2047U, 2048U, 2049U, 5000U}) {
    const auto n = static_cast<double>(count);
    const Moments found = moments_of(counted(count));
    EXPECT_EQ(found.finite, count);
    EXPECT_EQ(found.min, 1);
    EXPECT_EQ(found.max, n);
    EXPECT_DOUBLE_EQ(found.mean(), (n + 1) / 2) << count;
    EXPECT_NEAR(found.squares / (n * (n * n - 1) / 12 + 1e-300), count == 1 ? 0 : 1, 1e-14) << count;
  }
}

TEST(Moments, OfFloatsAreThoseOfTheSameDoubles) {
  const std::vector<double> doubles = counted(333);
  const std::vector<float> floats(doubles.begin(), doubles.end());
  EXPECT_EQ(moments_of(floats).mean(), moments_of(doubles).mean());
  EXPECT_EQ(moments_of(floats).squares, moments_of(doubles).squares);
}

TEST(Moments, JoinedAreThoseOfAll) {
  Moments front = moments_of(std::vector<double>{1, 2, 3}), all = moments_of(std::vector<double>{1, 2, 3, 10, 20});
  front.add(moments_of(std::vector<double>{10, 20}));
  EXPECT_DOUBLE_EQ(front.mean(), all.mean());
  EXPECT_DOUBLE_EQ(front.std(), all.std());
  EXPECT_EQ(front.max, 20);
}

TEST(Moments, RepeatedAreThoseOfTheNumbersAgain) {
  Moments once = moments_of(std::vector<double>{1, 0, 5});
  once.repeat(2);
  const Moments twice = moments_of(std::vector<double>{1, 0, 5, 1, 0, 5});
  EXPECT_EQ(once.zeros, 2U);
  EXPECT_DOUBLE_EQ(once.std(), twice.std());
}

TEST(Moments, OfASumTooLargeAreInfinite) {
  const Moments found = moments_of(std::vector<double>{1.7e308, 1.7e308});
  EXPECT_TRUE(std::isinf(found.mean()));
  EXPECT_TRUE(std::isinf(found.std()));
  EXPECT_EQ(found.not_finite(), 0U);
}

TEST(Moments, DropWhatIsNotFiniteAtAnyPlace) {
  for (std::size_t place = 0; place < 40; ++place) {
    std::vector<float> numbers(40, 2);
    numbers[place] = place % 2 == 0 ? NAN : INFINITY;
    const Moments found = moments_of(numbers);
    EXPECT_EQ(found.finite, 39U);
    EXPECT_EQ(found.mean(), 2);
  }
}

}  // namespace
}  // namespace ckpt
