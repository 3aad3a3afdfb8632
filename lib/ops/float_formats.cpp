#include "ops/float_formats.h"

namespace ckpt {
namespace {

/// The NaN of c10's formats that have a single one, signalling as it stands there.
constexpr std::uint32_t only_nan = 0x7F800001;

/// A finite element of a format with `mantissa` bits and an exponent that counts from `bias`.
constexpr std::uint32_t finite(unsigned mantissa, unsigned bias, unsigned bits) {
  const unsigned exponent = (bits & 0x7F) >> mantissa, fraction = bits & ((1U << mantissa) - 1);
  const unsigned significand = exponent == 0 ? fraction : fraction + (1U << mantissa);
  const unsigned power = 127 + (exponent == 0 ? 1 : exponent) - bias - mantissa;
  const float magnitude = static_cast<float>(significand) * std::bit_cast<float>(power << 23);
  return (bits & 0x80) << 24 | std::bit_cast<std::uint32_t>(magnitude);
}

template <class Decode>
constexpr Float8Table table(Decode decode) {
  Float8Table values{};
  for (unsigned bits = 0; bits < values.size(); ++bits) values[bits] = decode(bits);
  return values;
}

constexpr Float8Table e4m3fn =
    table([](unsigned bits) { return (bits & 0x7F) == 0x7F ? 0x7FF00000 | (bits & 0x80) << 24 : finite(3, 7, bits); });
constexpr Float8Table e4m3fnuz = table([](unsigned bits) { return bits == 0x80 ? only_nan : finite(3, 8, bits); });
/// The upper half of a float16.
constexpr Float8Table e5m2 =
    table([](unsigned bits) { return float32_of_float16(static_cast<std::uint16_t>(bits << 8)); });
constexpr Float8Table e5m2fnuz = table([](unsigned bits) { return bits == 0x80 ? only_nan : finite(2, 16, bits); });
/// A float32's exponent: 2^(bits - 127), of which the first is subnormal.
constexpr Float8Table e8m0fnu = table([](unsigned bits) {
  return bits == 0xFF ? only_nan : bits == 0 ? 0x00400000 : bits << 23;
});

}  // namespace

const Float8Table& float32_of_float8(DType dtype) {
  switch (dtype) {
    case DType::float8_e4m3fn:
      return e4m3fn;
    case DType::float8_e4m3fnuz:
      return e4m3fnuz;
    case DType::float8_e5m2:
      return e5m2;
    case DType::float8_e5m2fnuz:
      return e5m2fnuz;
    default:
      return e8m0fnu;
  }
}

}  // namespace ckpt
