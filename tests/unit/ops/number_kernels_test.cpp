#include "ops/number_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace ckpt {
namespace {

std::vector<const NumberKernels*> vector_kernels() {
  std::vector<const NumberKernels*> found{avx2_numbers(), avx512_numbers(), &best_numbers()};
  std::erase(found, nullptr);
  return found;
}

template <class T>
const std::byte* bytes_of(const std::vector<T>& numbers) {
  return std::as_bytes(std::span(numbers)).data();
}

template <class T>
double sum(const NumberKernels& kernels, const std::vector<T>& numbers) {
  return (sizeof(T) == sizeof(float) ? kernels.sum_floats : kernels.sum_doubles)(bytes_of(numbers), numbers.size());
}

template <class T>
NumberFigures measure(const NumberKernels& kernels, const std::vector<T>& numbers, double from) {
  const auto measure = sizeof(T) == sizeof(float) ? kernels.measure_floats : kernels.measure_doubles;
  return measure(bytes_of(numbers), numbers.size(), from);
}

template <class T>
std::vector<std::uint64_t> histogram(const NumberKernels& kernels, const std::vector<T>& numbers, const BinRule& rule,
                                     std::size_t bins) {
  std::vector<std::uint8_t> places((numbers.size() + 63) / 64 * 64);
  (sizeof(T) == sizeof(float) ? kernels.place_floats : kernels.place_doubles)(bytes_of(numbers), numbers.size(), rule,
                                                                              places.data());
  std::vector<std::uint64_t> counts(bins);
  kernels.count_places(places.data(), numbers.size(), 0, bins - 1, counts.data());
  return counts;
}

template <class T>
std::vector<T> normal(std::size_t count, double mean, double deviation, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> draw(mean, deviation);
  std::vector<T> numbers(count);
  std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<T>(draw(random)); });
  return numbers;
}

void expect_same(const NumberFigures& a, const NumberFigures& b) {
  EXPECT_EQ(a.distances, b.distances);
  EXPECT_EQ(a.squares, b.squares);
  EXPECT_EQ(a.min, b.min);
  EXPECT_EQ(a.max, b.max);
  EXPECT_EQ(a.zeros, b.zeros);
}

template <class T>
void expect_same_sums() {
  for (const std::size_t count : {0U, 1U, 7U, 15U, 16U, 17U, 33U, 2047U, 2048U}) {
    std::vector<T> numbers = normal<T>(count, 0.25, 3);
    for (std::size_t i = 3; i < count; i += 5) numbers[i] = i % 2 == 0 ? T(0) : T(-0.0);
    for (const NumberKernels* kernels : vector_kernels()) {
      EXPECT_EQ(sum(*kernels, numbers), sum(portable_numbers, numbers));
      expect_same(measure(*kernels, numbers, 0.125), measure(portable_numbers, numbers, 0.125));
    }
  }
}

TEST(NumberKernels, SumTheSameBitsWithEveryInstruction) {
  expect_same_sums<float>();
  expect_same_sums<double>();
}

TEST(NumberKernels, SumWhatTheNumbersAre) {
  const std::vector<float> numbers{4, 0, -2};
  EXPECT_EQ(sum(portable_numbers, numbers), 2);
  const NumberFigures found = measure(portable_numbers, numbers, 1);
  EXPECT_EQ(found.distances, -1);
  EXPECT_EQ(found.squares, 19);
  EXPECT_EQ(found.min, -2);
  EXPECT_EQ(found.max, 4);
  EXPECT_EQ(found.zeros, 1U);
}

TEST(NumberKernels, ANumberThatIsNotFiniteMakesTheSumSo) {
  for (const NumberKernels* kernels : vector_kernels()) {
    for (const float wrong : {NAN, INFINITY, -INFINITY}) {
      for (std::size_t place = 0; place < 70; ++place) {
        std::vector<float> numbers(70, 1);
        numbers[place] = wrong;
        EXPECT_FALSE(std::isfinite(sum(*kernels, numbers))) << place;
      }
    }
  }
}

/// Numbers on every edge, and those beside them.
template <class T>
std::vector<T> edges(double min, double max, std::size_t bins) {
  std::vector<T> numbers;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i <= bins; ++i) {
    T edge = static_cast<T>(min + (max - min) * static_cast<double>(i) / static_cast<double>(bins));
    for (int steps = 0; steps < 3; ++steps) edge = std::nextafter(edge, -infinity);
    for (int steps = 0; steps < 7; ++steps, edge = std::nextafter(edge, infinity))
      if (edge >= min && edge <= max) numbers.insert(numbers.end(), 3, edge);
  }
  return numbers;
}

template <class T>
void expect_same_histograms(double min, double max) {
  const T low = static_cast<T>(min), high = static_cast<T>(max);
  for (const std::size_t bins : {1U, 2U, 3U, 7U, 20U, 48U, 49U, 60U, 254U, 255U}) {
    const BinRule rule(static_cast<double>(low), static_cast<double>(high), bins);
    std::vector<T> numbers = edges<T>(static_cast<double>(low), static_cast<double>(high), bins);
    for (const T number : normal<T>(5000, (min + max) / 2, (max - min) / 8))
      if (number >= low && number <= high) numbers.push_back(number);
    std::vector<std::uint64_t> expected(bins);
    for (const T number : numbers) ++expected[static_cast<std::size_t>(rule.place(static_cast<double>(number)))];
    EXPECT_EQ(histogram(portable_numbers, numbers, rule, bins), expected);
    for (const NumberKernels* kernels : vector_kernels()) EXPECT_EQ(histogram(*kernels, numbers, rule, bins), expected);
  }
}

TEST(NumberKernels, PlaceNumbersAtTheEdgesOfBinsAsTheRuleDoes) {
  const double ranges[][2] = {{-1, 1},         {0, 1},        {-0.0778, 0.0799}, {-3e38, 3e38}, {1e-44, 1e-40},
                              {999.9, 1000.1}, {1, 1 + 1e-6}, {-1e-30, 1e30},    {-5, 1e9},     {-1e-38, 1e-38}};
  for (const auto& range : ranges) {
    expect_same_histograms<float>(range[0], range[1]);
    expect_same_histograms<double>(range[0], range[1]);
  }
}

TEST(NumberKernels, CountOnlyTheBinsThatWereAskedFor) {
  for (const NumberKernels* kernels : vector_kernels()) {
    std::vector<std::uint8_t> places(20'032);
    for (std::size_t i = 0; i < 20'000; ++i) places[i] = static_cast<std::uint8_t>(i % 10);
    std::vector<std::uint64_t> counts(10);
    kernels->count_places(places.data(), 20'000, 3, 8, counts.data());
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 0, 0, 2000, 2000, 2000, 2000, 2000, 2000, 0}));
  }
}

}  // namespace
}  // namespace ckpt
