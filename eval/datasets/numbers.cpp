#include "datasets/numbers.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace ckpt::eval {
namespace {

template <class Stored, class T, class Convert>
void convert(std::span<const std::byte> numbers, std::span<T> out, Convert&& to_number) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, numbers.data() + i * sizeof stored, sizeof stored);
    out[i] = static_cast<T>(to_number(stored));
  }
}

/// IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction.
float from_float16(std::uint16_t bits) {
  const unsigned exponent = bits >> 10 & 31U, fraction = bits & 1023U;
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) {
    const std::uint32_t wide = (bits & 0x8000U) << 16 | 0x7F800000U | fraction << 13;
    return std::bit_cast<float>(wide);
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction | 1024U), static_cast<int>(exponent) - 25);
}

}  // namespace

bool is_float(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 || dtype == DType::bfloat16;
}

template <class T>
void to_floats(DType dtype, std::span<const std::byte> numbers, std::span<T> out) {
  const auto as_it_is = [](auto value) { return value; };
  switch (dtype) {
    case DType::float64:
      return convert<double>(numbers, out, as_it_is);
    case DType::float16:
      return convert<std::uint16_t>(numbers, out, from_float16);
    case DType::bfloat16:
      return convert<std::uint16_t>(numbers, out, [](std::uint16_t bits) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
      });
    default:
      return convert<float>(numbers, out, as_it_is);
  }
}

template void to_floats<float>(DType, std::span<const std::byte>, std::span<float>);
template void to_floats<double>(DType, std::span<const std::byte>, std::span<double>);

void to_integers(DType dtype, std::span<const std::byte> numbers, std::span<std::int64_t> out) {
  const auto as_it_is = [](auto value) { return value; };
  switch (dtype) {
    case DType::int8:
      return convert<std::int8_t>(numbers, out, [](std::int8_t value) { return int{value}; });
    case DType::int16:
      return convert<std::int16_t>(numbers, out, as_it_is);
    case DType::int32:
      return convert<std::int32_t>(numbers, out, as_it_is);
    case DType::uint16:
      return convert<std::uint16_t>(numbers, out, as_it_is);
    case DType::uint32:
      return convert<std::uint32_t>(numbers, out, as_it_is);
    case DType::int64:
    case DType::uint64:
      return convert<std::int64_t>(numbers, out, as_it_is);
    case DType::boolean:
      return convert<std::uint8_t>(numbers, out, [](std::uint8_t value) { return value != 0 ? 1 : 0; });
    default:
      return convert<std::uint8_t>(numbers, out, as_it_is);
  }
}

}  // namespace ckpt::eval
