#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "ckpt/dtype.h"

namespace ckpt {

/// The values of the small floating dtypes, all of which float32 has too, as the bits of a float32: bits, because a NaN
/// need not survive as a float on every machine. Encodings and NaNs are c10's (torch/headeronly/util/Half.h,
/// BFloat16.h, Float8_*.h of 2.11): sign and payload stay, and float16's NaNs become quiet.
constexpr std::uint32_t float32_of_float16(std::uint16_t bits) {
  constexpr std::uint32_t infinity = 0x7F800000, quiet = 0x00400000;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(bits & 0x7FFF) << 13;
  if ((bits & 0x7C00) == 0x7C00) return sign | infinity | rest | ((bits & 0x03FF) != 0 ? quiet : 0);
  // In place the exponent counts from 15, not from 127; the product is exact, for subnormal numbers too.
  return sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) * 0x1p112F);
}

constexpr std::uint32_t float32_of_bfloat16(std::uint16_t bits) { return static_cast<std::uint32_t>(bits) << 16; }

using Float8Table = std::array<std::uint32_t, 256>;

/// For each of the 256 elements of a float8 dtype.
const Float8Table& float32_of_float8(DType dtype);

}  // namespace ckpt
