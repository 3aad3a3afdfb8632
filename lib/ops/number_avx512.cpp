#include "ops/number_loops.h"

#ifdef __x86_64__

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of what gcc 12's header leaves undefined on purpose
#endif
#include <immintrin.h>

// As number_avx2.cpp, of twice the width.
#define CKPT_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

namespace ckpt {
namespace {

CKPT_AVX512 inline __m512i join(__m256i a, __m256i b) { return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1); }

struct Width : number_loops::Vectors<64> {
  struct Bins {
    __m512i low, high;
  };

  CKPT_AVX512 static void widen(const std::byte* floats, Doubles& out) {
    out = _mm512_cvtps_pd(_mm256_loadu_ps(reinterpret_cast<const float*>(floats)));
  }

  CKPT_AVX512 static void guess(const std::byte* numbers, const BinRule::Guess<float>& how, Bins& out) {
    const __m512 x = _mm512_loadu_ps(numbers), scale = _mm512_set1_ps(how.scale);
    out = {_mm512_cvttps_epi32(_mm512_fmadd_ps(x, scale, _mm512_set1_ps(how.low))),
           _mm512_cvttps_epi32(_mm512_fmadd_ps(x, scale, _mm512_set1_ps(how.high)))};
  }

  CKPT_AVX512 static void guess(const std::byte* numbers, const BinRule::Guess<double>& how, Bins& out) {
    const __m512d x = _mm512_loadu_pd(numbers), y = _mm512_loadu_pd(numbers + 64), scale = _mm512_set1_pd(how.scale),
                  low = _mm512_set1_pd(how.low), high = _mm512_set1_pd(how.high);
    out = {
        join(_mm512_cvttpd_epi32(_mm512_fmadd_pd(x, scale, low)), _mm512_cvttpd_epi32(_mm512_fmadd_pd(y, scale, low))),
        join(_mm512_cvttpd_epi32(_mm512_fmadd_pd(x, scale, high)),
             _mm512_cvttpd_epi32(_mm512_fmadd_pd(y, scale, high)))};
  }

  CKPT_AVX512 static bool pack(const Bins* b, std::uint8_t* places) {
    const __m512i apart =
        _mm512_or_si512(_mm512_or_si512(_mm512_xor_si512(b[0].low, b[0].high), _mm512_xor_si512(b[1].low, b[1].high)),
                        _mm512_or_si512(_mm512_xor_si512(b[2].low, b[2].high), _mm512_xor_si512(b[3].low, b[3].high)));
    if (_mm512_test_epi32_mask(apart, apart) != 0) return false;
    const __m512i packed =
        _mm512_packus_epi16(_mm512_packs_epi32(b[0].low, b[1].low), _mm512_packs_epi32(b[2].low, b[3].low));
    _mm512_storeu_si512(places, packed);
    return true;
  }
};

template <class T>
CKPT_AVX512 double sum(const std::byte* numbers, std::size_t count) {
  return number_loops::sum_of<T, Width>(numbers, count);
}

template <class T>
CKPT_AVX512 NumberFigures measure(const std::byte* numbers, std::size_t count, double from) {
  NumberFigures out;
  number_loops::measure<T, Width>(numbers, count, from, out);
  return out;
}

CKPT_AVX512 void place_floats(const std::byte* numbers, std::size_t count, const BinRule& rule, std::uint8_t* places) {
  number_loops::place_by<Width>(rule.floats, numbers, count, rule, places);
}

CKPT_AVX512 void place_doubles(const std::byte* numbers, std::size_t count, const BinRule& rule, std::uint8_t* places) {
  number_loops::place_by<Width>(rule.doubles, numbers, count, rule, places);
}

void count_places(std::uint8_t* places, std::size_t count, std::size_t first, std::size_t last, std::uint64_t* counts) {
  avx2_numbers()->count_places(places, count, first, last, counts);
}

constexpr NumberKernels kernels{sum<float>,   sum<double>,   measure<float>, measure<double>,
                                place_floats, place_doubles, count_places};

}  // namespace

const NumberKernels* avx512_numbers() {
  static const bool here = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                           avx2_numbers() != nullptr;
  return here ? &kernels : nullptr;
}

}  // namespace ckpt

#else

namespace ckpt {

const NumberKernels* avx512_numbers() { return nullptr; }

}  // namespace ckpt

#endif
