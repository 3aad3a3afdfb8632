#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "ops/number_kernels.h"

namespace ckpt {

/// What one pass over numbers leaves of them, so that two runs can be joined (Chan, Golub, LeVeque 1979): no precision
/// is lost to a large mean or to the number of numbers.
struct Moments {
  std::uint64_t finite = 0;
  std::uint64_t zeros = 0, nan = 0, positive = 0, negative = 0;
  double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();
  double average = 0, below = 0;  ///< the mean is their sum: beside a large one the deviation needs its further digits
  double squares = 0;             ///< of the distances to the mean

  void add(const Moments& other);
  /// As if each number had been there so often.
  void repeat(std::uint64_t times);

  [[nodiscard]] std::uint64_t not_finite() const { return nan + positive + negative; }
  /// Infinite where a sum on the way is too large for a double, as PyTorch's; so are the next two.
  [[nodiscard]] double mean() const;
  [[nodiscard]] double std() const;
  [[nodiscard]] double norm() const;
};

/// Numbers at a time: they are read twice, and the first-level cache holds them. Where blocks begin shows in the last
/// digits of what they come to.
constexpr std::size_t moments_block = 2048;

/// Adds what the `count` numbers come to, at most moments_block; `T` is float or double.
template <class T>
void add_numbers(Moments& moments, const std::byte* numbers, std::size_t count,
                 const NumberKernels& kernels = best_numbers());

/// Copies those that are finite to `out`, which has room for all; how many they are.
template <class T>
std::size_t copy_finite(const std::byte* numbers, std::size_t count, double* out);

}  // namespace ckpt
