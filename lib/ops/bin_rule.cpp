#include "ops/bin_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ckpt {
namespace {

/// With u the unit of rounding, X the largest |x| * scale and B the bins, the guess is off by (2X + 2X + B + 2) u at
/// most: by the scale, the product, the offset and the sum; torch's own figure by 3 B u. 8 (X + B) u is above both.
template <class T>
BinRule::Guess<T> guess(double min, double max, double bins) {
  constexpr double unit = std::numeric_limits<T>::epsilon() / 2;
  constexpr double widest = 1.0 / 256;
  // Far from what T cannot hold, or holds with fewer digits.
  constexpr double largest = std::numeric_limits<T>::max() / 0x1p24, smallest = std::numeric_limits<T>::min() * 0x1p24;
  const double scale = bins / (max - min), far = std::max(std::abs(min), std::abs(max));
  const double off = 8 * unit * (far * scale + bins);
  if (!(scale > smallest && scale < largest && far < largest && off < widest)) return {};
  return {static_cast<T>(scale), static_cast<T>(-min * scale - off), static_cast<T>(-min * scale + off), true};
}

}  // namespace

BinRule::BinRule(double least, double most, std::size_t count)
    : min(least),
      range(most - least),
      bins(static_cast<double>(count)),
      last(static_cast<std::int32_t>(count) - 1),
      floats(guess<float>(least, most, bins)),
      doubles(guess<double>(least, most, bins)) {}

}  // namespace ckpt
