#include "ops/number_kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

// Each loop is compiled twice, for every machine and for those with AVX2, from one text over vectors that the compiler
// makes instructions of. No fused multiplication: the same bits everywhere.
#define CKPT_INLINE __attribute__((always_inline)) inline
#ifdef __x86_64__
#define CKPT_AVX2 __attribute__((target("avx2")))
#endif

namespace ckpt {
namespace {

constexpr std::size_t width = 4, vectors = 4, step = width * vectors;
using Doubles [[gnu::vector_size(width * sizeof(double))]] = double;
using Floats [[gnu::vector_size(width * sizeof(float))]] = float;
using Masks [[gnu::vector_size(width * sizeof(double))]] = std::int64_t;
using Places [[gnu::vector_size(width * sizeof(std::int32_t))]] = std::int32_t;

template <class T>
CKPT_INLINE void load(const std::byte* numbers, std::size_t index, Doubles& out) {
  if constexpr (sizeof(T) == sizeof(double)) {
    std::memcpy(&out, numbers + index * sizeof(double), sizeof out);
  } else {
    Floats floats;
    std::memcpy(&floats, numbers + index * sizeof(float), sizeof floats);
    out = __builtin_convertvector(floats, Doubles);
  }
}

template <class T>
CKPT_INLINE double load_one(const std::byte* numbers, std::size_t index) {
  T number;
  std::memcpy(&number, numbers + index * sizeof(T), sizeof number);
  return static_cast<double>(number);
}

CKPT_INLINE double total(const Doubles (&sums)[vectors]) {
  const Doubles all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return (all[0] + all[1]) + (all[2] + all[3]);
}

template <class T>
CKPT_INLINE void sums_of(const std::byte* numbers, std::size_t count, NumberSums& out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Doubles zero{};
  Doubles sums[vectors]{}, min[vectors], max[vectors];
  Masks zeros[vectors]{};
  for (std::size_t v = 0; v < vectors; ++v) min[v] = zero + infinity, max[v] = zero - infinity;
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      Doubles x;
      load<T>(numbers, i + v * width, x);
      sums[v] += x;
      zeros[v] -= x == zero;
      min[v] = x < min[v] ? x : min[v];
      max[v] = x > max[v] ? x : max[v];
    }
  }
  out.sum = total(sums);
  out.min = infinity, out.max = -infinity;
  for (std::size_t v = 0; v < vectors; ++v) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      out.min = std::min(out.min, min[v][lane]);
      out.max = std::max(out.max, max[v][lane]);
      out.zeros += static_cast<std::uint64_t>(zeros[v][lane]);
    }
  }
  for (; i < count; ++i) {
    const double x = load_one<T>(numbers, i);
    out.sum += x;
    out.zeros += x == 0 ? 1 : 0;
    out.min = x < out.min ? x : out.min;
    out.max = x > out.max ? x : out.max;
  }
}

template <class T>
CKPT_INLINE void distances_of(const std::byte* numbers, std::size_t count, double mean, Distances& out) {
  Doubles sums[vectors]{}, squares[vectors]{};
  std::size_t i = 0;
  for (; i + step <= count; i += step) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      Doubles x;
      load<T>(numbers, i + v * width, x);
      x -= mean;
      sums[v] += x;
      squares[v] += x * x;
    }
  }
  out.sum = total(sums);
  out.squares = total(squares);
  for (; i < count; ++i) {
    const double x = load_one<T>(numbers, i) - mean;
    out.sum += x;
    out.squares += x * x;
  }
}

template <class T>
CKPT_INLINE void bins_of(const std::byte* numbers, std::size_t count, double min, double max, double bins,
                         std::int32_t* out) {
  const double range = max - min;
  std::size_t i = 0;
  for (; i + width <= count; i += width) {
    Doubles x;
    load<T>(numbers, i, x);
    const Places places = __builtin_convertvector((x - min) * bins / range, Places);
    std::memcpy(out + i, &places, sizeof places);
  }
  for (; i < count; ++i) out[i] = static_cast<std::int32_t>((load_one<T>(numbers, i) - min) * bins / range);
}

#ifdef CKPT_AVX2
bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

template <class T>
CKPT_AVX2 void avx2_sums(const std::byte* numbers, std::size_t count, NumberSums& out) {
  sums_of<T>(numbers, count, out);
}
template <class T>
CKPT_AVX2 void avx2_distances(const std::byte* numbers, std::size_t count, double mean, Distances& out) {
  distances_of<T>(numbers, count, mean, out);
}
template <class T>
CKPT_AVX2 void avx2_bins(const std::byte* numbers, std::size_t count, double min, double max, double bins,
                         std::int32_t* out) {
  bins_of<T>(numbers, count, min, max, bins, out);
}
#endif

}  // namespace

template <class T>
NumberSums sum_numbers(const std::byte* numbers, std::size_t count) {
  NumberSums out;
#ifdef CKPT_AVX2
  if (has_avx2()) return avx2_sums<T>(numbers, count, out), out;
#endif
  sums_of<T>(numbers, count, out);
  return out;
}

template <class T>
Distances sum_distances(const std::byte* numbers, std::size_t count, double mean) {
  Distances out;
#ifdef CKPT_AVX2
  if (has_avx2()) return avx2_distances<T>(numbers, count, mean, out), out;
#endif
  distances_of<T>(numbers, count, mean, out);
  return out;
}

template <class T>
void find_bins(const std::byte* numbers, std::size_t count, double min, double max, double bins, std::int32_t* out) {
#ifdef CKPT_AVX2
  if (has_avx2()) return avx2_bins<T>(numbers, count, min, max, bins, out);
#endif
  bins_of<T>(numbers, count, min, max, bins, out);
}

template NumberSums sum_numbers<float>(const std::byte*, std::size_t);
template NumberSums sum_numbers<double>(const std::byte*, std::size_t);
template Distances sum_distances<float>(const std::byte*, std::size_t, double);
template Distances sum_distances<double>(const std::byte*, std::size_t, double);
template void find_bins<float>(const std::byte*, std::size_t, double, double, double, std::int32_t*);
template void find_bins<double>(const std::byte*, std::size_t, double, double, double, std::int32_t*);

}  // namespace ckpt
