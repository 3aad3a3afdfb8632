#include "ops/number_loops.h"

#ifdef __x86_64__

#include <immintrin.h>

#include <algorithm>
#include <cstring>

// Each function is compiled for these instructions by itself, so that the program starts on machines without them.
#define CKPT_AVX2 __attribute__((target("avx2")))

namespace ckpt {
namespace {

CKPT_AVX2 inline __m256i load(const std::byte* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
CKPT_AVX2 inline __m256i join(__m128i a, __m128i b) { return _mm256_set_m128i(b, a); }

struct Width : number_loops::Vectors<32> {
  struct Bins {
    __m256i low, high;
  };

  CKPT_AVX2 static void widen(const std::byte* floats, Doubles& out) {
    out = _mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(floats)));
  }

  CKPT_AVX2 static void guess(const std::byte* numbers, const BinRule::Guess<float>& how, Bins& out) {
    const __m256 x = _mm256_mul_ps(_mm256_castsi256_ps(load(numbers)), _mm256_set1_ps(how.scale));
    out = {_mm256_cvttps_epi32(_mm256_add_ps(x, _mm256_set1_ps(how.low))),
           _mm256_cvttps_epi32(_mm256_add_ps(x, _mm256_set1_ps(how.high)))};
  }

  CKPT_AVX2 static void guess(const std::byte* numbers, const BinRule::Guess<double>& how, Bins& out) {
    const __m256d scale = _mm256_set1_pd(how.scale), low = _mm256_set1_pd(how.low), high = _mm256_set1_pd(how.high);
    const __m256d x = _mm256_mul_pd(_mm256_castsi256_pd(load(numbers)), scale);
    const __m256d y = _mm256_mul_pd(_mm256_castsi256_pd(load(numbers + 32)), scale);
    out = {join(_mm256_cvttpd_epi32(_mm256_add_pd(x, low)), _mm256_cvttpd_epi32(_mm256_add_pd(y, low))),
           join(_mm256_cvttpd_epi32(_mm256_add_pd(x, high)), _mm256_cvttpd_epi32(_mm256_add_pd(y, high)))};
  }

  CKPT_AVX2 static bool pack(const Bins* b, std::uint8_t* places) {
    const __m256i apart =
        _mm256_or_si256(_mm256_or_si256(_mm256_xor_si256(b[0].low, b[0].high), _mm256_xor_si256(b[1].low, b[1].high)),
                        _mm256_or_si256(_mm256_xor_si256(b[2].low, b[2].high), _mm256_xor_si256(b[3].low, b[3].high)));
    if (_mm256_testz_si256(apart, apart) == 0) return false;
    const __m256i packed =
        _mm256_packus_epi16(_mm256_packs_epi32(b[0].low, b[1].low), _mm256_packs_epi32(b[2].low, b[3].low));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places), packed);
    return true;
  }
};

template <class T>
CKPT_AVX2 double sum(const std::byte* numbers, std::size_t count) {
  return number_loops::sum_of<T, Width>(numbers, count);
}

template <class T>
CKPT_AVX2 NumberFigures measure(const std::byte* numbers, std::size_t count, double from) {
  NumberFigures out;
  number_loops::measure<T, Width>(numbers, count, from, out);
  return out;
}

CKPT_AVX2 void place_floats(const std::byte* numbers, std::size_t count, const BinRule& rule, std::uint8_t* places) {
  number_loops::place_by<Width>(rule.floats, numbers, count, rule, places);
}

CKPT_AVX2 void place_doubles(const std::byte* numbers, std::size_t count, const BinRule& rule, std::uint8_t* places) {
  number_loops::place_by<Width>(rule.doubles, numbers, count, rule, places);
}

/// Of a vector of counters of a byte each.
CKPT_AVX2 inline std::uint64_t total(__m256i counts) {
  const __m256i eights = _mm256_sad_epu8(counts, _mm256_setzero_si256());
  const __m128i fours = _mm_add_epi64(_mm256_castsi256_si128(eights), _mm256_extracti128_si256(eights, 1));
  return static_cast<std::uint64_t>(_mm_extract_epi64(fours, 0)) +
         static_cast<std::uint64_t>(_mm_extract_epi64(fours, 1));
}

/// Each bin's places are counted by comparing all with it, four bins at a time.
CKPT_AVX2 void compare_places(const std::uint8_t* places, std::size_t count, std::size_t first, std::size_t last,
                              std::uint64_t* counts) {
  constexpr std::size_t bins = 4;
  for (; first <= last; first += bins) {
    __m256i wanted[bins], found[bins];
    for (std::size_t b = 0; b < bins; ++b) {
      wanted[b] = _mm256_set1_epi8(static_cast<char>(std::min(first + b, std::size_t{255})));
      found[b] = _mm256_setzero_si256();
    }
    for (std::size_t i = 0; i < count; i += 32) {
      const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(places + i));
#pragma GCC unroll 4
      for (std::size_t b = 0; b < bins; ++b) found[b] = _mm256_sub_epi8(found[b], _mm256_cmpeq_epi8(here, wanted[b]));
    }
    for (std::size_t b = 0; b < bins && first + b <= last; ++b) counts[first + b] += total(found[b]);
  }
}

CKPT_AVX2 void count_places(std::uint8_t* places, std::size_t count, std::size_t first, std::size_t last,
                            std::uint64_t* counts) {
  // Beyond so many bins a table is faster; a counter of a byte lasts for 255 vectors.
  constexpr std::size_t most_compared = 48, most_places = 255 * 32;
  if (last - first >= most_compared) return portable_numbers.count_places(places, count, first, last, counts);
  for (; count > 0;) {
    const std::size_t now = std::min(count, most_places), whole = (now + 31) / 32 * 32;
    if (now == count) std::memset(places + now, 255, whole - now);
    compare_places(places, whole, first, last, counts);
    places += now;
    count -= now;
  }
}

constexpr NumberKernels kernels{sum<float>,   sum<double>,   measure<float>, measure<double>,
                                place_floats, place_doubles, count_places};

}  // namespace

const NumberKernels* avx2_numbers() {
  static const bool here = __builtin_cpu_supports("avx2");
  return here ? &kernels : nullptr;
}

}  // namespace ckpt

#else

namespace ckpt {

const NumberKernels* avx2_numbers() { return nullptr; }

}  // namespace ckpt

#endif
