#include <bit>
#include <cmath>
#include <cstdint>

#include "io/bytes.h"
#include "ops/cast_kernels.h"
#include "ops/float_formats.h"

// Rounding is to the nearest, ties to even, as the machine's float arithmetic has it. NaNs are made of bits alone,
// since machines differ in what their conversions make of them.
namespace ckpt {
namespace {

constexpr std::uint32_t sign_bit = 0x80000000, infinity = 0x7F800000, quiet = 0x00400000;

std::uint32_t float32_of_float64(std::uint64_t bits) {
  const double value = std::bit_cast<double>(bits);
  if (!std::isnan(value)) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return (static_cast<std::uint32_t>(bits >> 32) & sign_bit) | infinity | quiet |
         (static_cast<std::uint32_t>(bits >> 29) & ~(sign_bit | infinity));
}

std::uint64_t to_float64(std::uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  if (!std::isnan(value)) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  constexpr std::uint64_t nan = 0x7FF8000000000000;
  return static_cast<std::uint64_t>(bits & sign_bit) << 32 | nan | static_cast<std::uint64_t>(bits & ~sign_bit) << 29;
}

/// A magnitude below the format's infinity, rounded to `mantissa` bits under an exponent that counts from `bias`.
/// It may round up to the element behind the largest: infinity, or NaN where there is none.
template <unsigned mantissa, unsigned bias>
std::uint32_t rounded(std::uint32_t magnitude) {
  constexpr std::uint32_t exponents_apart = 127 - bias, cut = 23 - mantissa;
  constexpr std::uint32_t smallest_normal = (exponents_apart + 1) << 23;
  // The last bit of this power of two is worth as much as a subnormal element's, so the sum has the element's bits.
  constexpr std::uint32_t aligner = (exponents_apart + 1 + cut) << 23;
  if (magnitude < smallest_normal) {
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(aligner);
    return std::bit_cast<std::uint32_t>(sum) - aligner;
  }
  const std::uint32_t odd = magnitude >> cut & 1;
  return (magnitude - (exponents_apart << 23) + ((1U << (cut - 1)) - 1) + odd) >> cut;
}

/// NaN keeps its sign and the upper bits of its payload, as x86's and ARM's instructions have it.
std::uint16_t to_float16(std::uint32_t bits) {
  constexpr std::uint32_t overflow = 0x47800000;  // 65536
  const std::uint32_t magnitude = bits & ~sign_bit;
  const std::uint32_t result = magnitude < overflow    ? rounded<10, 15>(magnitude)
                               : magnitude <= infinity ? 0x7C00
                                                       : 0x7E00 | (magnitude >> 13 & 0x03FF);
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | result);
}

/// NaN is c10's one of BFloat16.h. (Where PyTorch's own vector code runs, on contiguous tensors, it makes 0xFFFF of
/// it.)
std::uint16_t to_bfloat16(std::uint32_t bits) {
  if ((bits & ~sign_bit) > infinity) return 0x7FC0;
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// There is no infinity: what is too large is NaN.
std::uint8_t to_e4m3fn(std::uint32_t bits) {
  constexpr std::uint32_t overflow = 0x43F00000;  // 480
  const std::uint32_t magnitude = bits & ~sign_bit;
  return static_cast<std::uint8_t>((bits >> 24 & 0x80) | (magnitude < overflow ? rounded<3, 7>(magnitude) : 0x7F));
}

std::uint8_t to_e5m2(std::uint32_t bits) {
  constexpr std::uint32_t overflow = 0x47800000;  // 65536
  const std::uint32_t magnitude = bits & ~sign_bit;
  const std::uint32_t result = magnitude < overflow ? rounded<2, 15>(magnitude) : magnitude <= infinity ? 0x7C : 0x7F;
  return static_cast<std::uint8_t>((bits >> 24 & 0x80) | result);
}

template <class From, class Convert>
void each(const std::byte* in, std::byte* out, std::size_t count, Convert convert) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto to = convert(load_le<From>(in + i * sizeof(From)));
    std::memcpy(out + i * sizeof to, &to, sizeof to);
  }
}

void to_float32(DType from, const std::byte* in, std::byte* out, std::size_t count) {
  switch (from) {
    case DType::float64:
      return each<std::uint64_t>(in, out, count, float32_of_float64);
    case DType::float32:
      std::memcpy(out, in, count * sizeof(float));
      return;
    case DType::float16:
      return each<std::uint16_t>(in, out, count, float32_of_float16);
    case DType::bfloat16:
      return each<std::uint16_t>(in, out, count, float32_of_bfloat16);
    default:
      return each<std::uint8_t>(in, out, count,
                                [&values = float32_of_float8(from)](auto bits) { return values[bits]; });
  }
}

void from_float32(DType to, const std::byte* in, std::byte* out, std::size_t count) {
  switch (to) {
    case DType::float64:
      return each<std::uint32_t>(in, out, count, to_float64);
    case DType::float32:
      std::memcpy(out, in, count * sizeof(float));
      return;
    case DType::float16:
      return each<std::uint32_t>(in, out, count, to_float16);
    case DType::bfloat16:
      return each<std::uint32_t>(in, out, count, to_bfloat16);
    case DType::float8_e4m3fn:
      return each<std::uint32_t>(in, out, count, to_e4m3fn);
    default:
      return each<std::uint32_t>(in, out, count, to_e5m2);
  }
}

}  // namespace

const CastKernels portable_casts{to_float32, from_float32};

}  // namespace ckpt
