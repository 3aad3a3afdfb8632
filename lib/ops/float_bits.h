#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ckpt/dtype.h"

namespace ckpt {

/// How a floating dtype says that a value is no finite number: its bits under `mask` are `value`. Of complex dtypes:
/// how each of the two parts does.
struct FloatBits {
  std::size_t width = 0;  ///< bytes of a value
  std::uint64_t mask = 0, value = 0;
  std::uint64_t sign = 0;  ///< where it has infinities: the sign's bit; else 0, and every such value is NaN
};

/// None for dtypes whose values are all finite: integers, bools, quantised ones, float4.
std::optional<FloatBits> float_bits(DType dtype);

enum class Finiteness : std::uint8_t { finite, nan, positive_infinity, negative_infinity };

/// Of the value at `at`, in little-endian order.
Finiteness finiteness(const FloatBits& bits, const std::byte* at);

/// Whether any of the values is not finite: at the speed of memory, with no look at which. What is left over of a whole
/// value at the end counts for nothing.
bool any_not_finite(const FloatBits& bits, std::span<const std::byte> values);

}  // namespace ckpt
