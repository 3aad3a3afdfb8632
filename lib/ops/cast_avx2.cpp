#include "ops/cast_kernels.h"

#ifdef __x86_64__

#include <cpuid.h>
#include <immintrin.h>

#include <cstdint>

// Eight elements at a time; the rest, and what a table gives, is portable_casts' work. Each function is compiled for
// these instructions by itself, so that the program starts on machines without them.
#define CKPT_AVX2 __attribute__((target("avx2,f16c")))

namespace ckpt {
namespace {

constexpr std::size_t lanes = 8;

CKPT_AVX2 inline __m256i all(std::uint32_t value) { return _mm256_set1_epi32(static_cast<int>(value)); }
CKPT_AVX2 inline __m256i load(const std::byte* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
CKPT_AVX2 inline __m128i load_half(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
CKPT_AVX2 inline void store(std::byte* at, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), value);
}
CKPT_AVX2 inline void store_half(std::byte* at, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(at), value);
}
/// Magnitudes: the comparisons of integers with a sign are right for them.
CKPT_AVX2 inline __m256i magnitudes(__m256i bits) { return _mm256_and_si256(bits, all(0x7FFFFFFF)); }
CKPT_AVX2 inline __m256i above(__m256i value, std::uint32_t bound) { return _mm256_cmpgt_epi32(value, all(bound)); }

CKPT_AVX2 inline __m128i low_halves(__m256i values) {
  const __m256i packed = _mm256_packus_epi32(values, values);
  return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0b1000));
}

CKPT_AVX2 inline __m128i to_bfloat16(__m256i bits) {
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), all(1));
  const __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(odd, all(0x7FFF)));
  const __m256i nan = above(magnitudes(bits), 0x7F800000);
  return low_halves(_mm256_blendv_epi8(_mm256_srli_epi32(sum, 16), all(0x7FC0), nan));
}

/// As rounded() of cast_portable.cpp, both ways for every lane; a magnitude above the format's gives what is discarded.
template <unsigned mantissa, unsigned bias>
CKPT_AVX2 inline __m256i rounded(__m256i magnitude) {
  constexpr std::uint32_t exponents_apart = 127 - bias, cut = 23 - mantissa;
  constexpr std::uint32_t smallest_normal = (exponents_apart + 1) << 23, aligner = (exponents_apart + 1 + cut) << 23;
  const __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(magnitude), _mm256_castsi256_ps(all(aligner)));
  const __m256i subnormal = _mm256_sub_epi32(_mm256_castps_si256(sum), all(aligner));
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(magnitude, cut), all(1));
  const __m256i moved = _mm256_add_epi32(magnitude, all((1U << (cut - 1)) - 1 - (exponents_apart << 23)));
  const __m256i normal = _mm256_srli_epi32(_mm256_add_epi32(moved, odd), cut);
  return _mm256_blendv_epi8(subnormal, normal, above(magnitude, smallest_normal - 1));
}

CKPT_AVX2 inline __m256i e4m3fn(__m256i magnitude) {
  return _mm256_blendv_epi8(rounded<3, 7>(magnitude), all(0x7F), above(magnitude, 0x43F00000 - 1));
}

CKPT_AVX2 inline __m256i e5m2(__m256i magnitude) {
  const __m256i overflown = _mm256_blendv_epi8(rounded<2, 15>(magnitude), all(0x7C), above(magnitude, 0x47800000 - 1));
  return _mm256_blendv_epi8(overflown, all(0x7F), above(magnitude, 0x7F800000));
}

template <__m256i (*of_magnitude)(__m256i)>
CKPT_AVX2 inline __m128i to_float8(__m256i bits) {
  const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), all(0x80));
  const __m128i halves = low_halves(_mm256_or_si256(of_magnitude(magnitudes(bits)), sign));
  return _mm_packus_epi16(halves, halves);
}

CKPT_AVX2 void to_float32(DType from, const std::byte* in, std::byte* out, std::size_t count) {
  const std::size_t whole = count / lanes * lanes;
  std::size_t i = 0;
  switch (from) {
    case DType::float64:
      for (; i < whole; i += lanes / 2) {
        const __m256d values = _mm256_castsi256_pd(load(in + i * 8));
        store_half(out + i * 4, _mm_castps_si128(_mm256_cvtpd_ps(values)));
      }
      break;
    case DType::float16:
      for (; i < whole; i += lanes) store(out + i * 4, _mm256_castps_si256(_mm256_cvtph_ps(load_half(in + i * 2))));
      break;
    case DType::bfloat16:
      for (; i < whole; i += lanes)
        store(out + i * 4, _mm256_slli_epi32(_mm256_cvtepu16_epi32(load_half(in + i * 2)), 16));
      break;
    default:
      break;
  }
  portable_casts.to_float32(from, in + i * dtype_size(from), out + i * sizeof(float), count - i);
}

CKPT_AVX2 void from_float32(DType to, const std::byte* in, std::byte* out, std::size_t count) {
  const std::size_t whole = count / lanes * lanes;
  std::size_t i = 0;
  switch (to) {
    case DType::float64:
      for (; i < whole; i += lanes / 2) {
        const __m128 values = _mm_castsi128_ps(load_half(in + i * 4));
        store(out + i * 8, _mm256_castpd_si256(_mm256_cvtps_pd(values)));
      }
      break;
    case DType::float16:
      for (; i < whole; i += lanes)
        store_half(out + i * 2, _mm256_cvtps_ph(_mm256_castsi256_ps(load(in + i * 4)), _MM_FROUND_TO_NEAREST_INT));
      break;
    case DType::bfloat16:
      for (; i < whole; i += lanes) store_half(out + i * 2, to_bfloat16(load(in + i * 4)));
      break;
    case DType::float8_e4m3fn:
      for (; i < whole; i += lanes) _mm_storeu_si64(out + i, to_float8<e4m3fn>(load(in + i * 4)));
      break;
    case DType::float8_e5m2:
      for (; i < whole; i += lanes) _mm_storeu_si64(out + i, to_float8<e5m2>(load(in + i * 4)));
      break;
    default:
      break;
  }
  portable_casts.from_float32(to, in + i * sizeof(float), out + i * dtype_size(to), count - i);
}

/// clang 14's __builtin_cpu_supports does not know it.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

constexpr CastKernels kernels{to_float32, from_float32};

}  // namespace

const CastKernels* avx2_casts() {
  static const bool here = __builtin_cpu_supports("avx2") && has_f16c();
  return here ? &kernels : nullptr;
}

}  // namespace ckpt

#else

namespace ckpt {

const CastKernels* avx2_casts() { return nullptr; }

}  // namespace ckpt

#endif
