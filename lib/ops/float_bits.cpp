#include "ops/float_bits.h"

#include <cstring>

namespace ckpt {
namespace {

/// Values looked at in one go: a fixed number, so that the compiler makes vector instructions of it.
constexpr std::size_t block = 1024;

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
bool any_in(const FloatBits& bits, std::span<const std::byte> values) {
  const T mask = static_cast<T>(bits.mask), value = static_cast<T>(bits.value);
  const std::byte* at = values.data();
  std::size_t left = values.size() / sizeof(T);
  T found = 0;
  for (; left >= block && found == 0; left -= block, at += block * sizeof(T))
    for (std::size_t i = 0; i < block; ++i)
      found = static_cast<T>(found | ((load<T>(at + i * sizeof(T)) & mask) == value ? 1 : 0));
  for (std::size_t i = 0; i < left && found == 0; ++i) found = (load<T>(at + i * sizeof(T)) & mask) == value ? 1 : 0;
  return found != 0;
}

std::uint64_t load_bits(std::size_t width, const std::byte* at) {
  switch (width) {
    case 1:
      return load<std::uint8_t>(at);
    case 2:
      return load<std::uint16_t>(at);
    case 4:
      return load<std::uint32_t>(at);
    default:
      return load<std::uint64_t>(at);
  }
}

FloatBits ieee(std::size_t width, std::uint64_t exponent) {
  return {width, exponent, exponent, std::uint64_t{1} << (8 * width - 1)};
}

}  // namespace

// The encodings are those of c10/util/Half.h, BFloat16.h, Float8_*.h. A type whose name ends in "fn" is finite but for
// NaN; "uz" has one zero, and the other zero's bits are its NaN.
std::optional<FloatBits> float_bits(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::complex32:
      return ieee(2, 0x7C00);
    case DType::bfloat16:
      return ieee(2, 0x7F80);
    case DType::float32:
    case DType::complex64:
      return ieee(4, 0x7F800000);
    case DType::float64:
    case DType::complex128:
      return ieee(8, 0x7FF0000000000000);
    case DType::float8_e5m2:
      return ieee(1, 0x7C);
    case DType::float8_e4m3fn:
      return FloatBits{1, 0x7F, 0x7F, 0};
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2fnuz:
      return FloatBits{1, 0xFF, 0x80, 0};
    case DType::float8_e8m0fnu:
      return FloatBits{1, 0xFF, 0xFF, 0};
    default:
      return std::nullopt;
  }
}

Finiteness finiteness(const FloatBits& bits, const std::byte* at) {
  const std::uint64_t value = load_bits(bits.width, at);
  if ((value & bits.mask) != bits.value) return Finiteness::finite;
  if (bits.sign == 0 || (value & ~bits.sign) != bits.value) return Finiteness::nan;
  return (value & bits.sign) == 0 ? Finiteness::positive_infinity : Finiteness::negative_infinity;
}

bool any_not_finite(const FloatBits& bits, std::span<const std::byte> values) {
  switch (bits.width) {
    case 1:
      return any_in<std::uint8_t>(bits, values);
    case 2:
      return any_in<std::uint16_t>(bits, values);
    case 4:
      return any_in<std::uint32_t>(bits, values);
    default:
      return any_in<std::uint64_t>(bits, values);
  }
}

}  // namespace ckpt
