#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/bin_rule.h"

namespace ckpt {

struct NumberFigures {
  double distances = 0, squares = 0;  ///< sums of the distances to what was given, and of their squares
  double min = 0, max = 0;            ///< of those that are no NaN
  std::uint64_t zeros = 0;
};

/// The loops of statistics, over little-endian numbers at any address.
struct NumberKernels {
  /// Sums are computed in double and in the same order on every machine.
  double (*sum_floats)(const std::byte* numbers, std::size_t count);
  double (*sum_doubles)(const std::byte* numbers, std::size_t count);
  NumberFigures (*measure_floats)(const std::byte* numbers, std::size_t count, double from);
  NumberFigures (*measure_doubles)(const std::byte* numbers, std::size_t count, double from);
  /// BinRule::place() of each number. `rule` has at most most_byte_bins bins.
  void (*place_floats)(const std::byte* numbers, std::size_t count, const BinRule& rule, std::uint8_t* places);
  void (*place_doubles)(const std::byte* numbers, std::size_t count, const BinRule& rule, std::uint8_t* places);
  /// Adds how many of the places are each of `first` to `last` (both included, below 255) to counts[place]. `places`
  /// may be read, and written, up to its next multiple of 64.
  void (*count_places)(std::uint8_t* places, std::size_t count, std::size_t first, std::size_t last,
                       std::uint64_t* counts);
};

/// Bins whose places fit a byte and leave one value free.
constexpr std::size_t most_byte_bins = 255;

/// In plain C++. It says what the others give, to the bit.
extern const NumberKernels portable_numbers;

/// Null where the machine, or the build, lacks their instructions.
const NumberKernels* avx2_numbers();
const NumberKernels* avx512_numbers();

/// The fastest that the machine has.
const NumberKernels& best_numbers();

}  // namespace ckpt
