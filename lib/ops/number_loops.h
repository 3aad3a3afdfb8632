#pragma once

#include <cstring>
#include <limits>

#include "ops/number_kernels.h"

// One text of the sums for every width of vectors, which the compiler makes instructions of. Number i is added to lane
// i % lanes, and no multiplication is fused (CMakeLists.txt): the same bits everywhere.
#define CKPT_INLINE __attribute__((always_inline)) inline

namespace ckpt::number_loops {

constexpr std::size_t lanes = 16;

/// Vectors of `bytes` bytes. What is derived of it says how floats become doubles, widen(address, doubles), and
/// what place_by() asks for.
template <std::size_t bytes>
struct Vectors {
  static constexpr std::size_t size = bytes;
  using Doubles [[gnu::vector_size(bytes)]] = double;
  using Floats [[gnu::vector_size(bytes)]] = float;
  using Longs [[gnu::vector_size(bytes)]] = std::int64_t;
  using Ints [[gnu::vector_size(bytes)]] = std::int32_t;
};

template <class T, class Width>
struct Numbers;
template <class Width>
struct Numbers<float, Width> {
  using Vector = typename Width::Floats;
  using Masks = typename Width::Ints;
};
template <class Width>
struct Numbers<double, Width> {
  using Vector = typename Width::Doubles;
  using Masks = typename Width::Longs;
};

template <class T>
CKPT_INLINE double load_one(const std::byte* numbers, std::size_t index) {
  T number;
  std::memcpy(&number, numbers + index * sizeof(T), sizeof number);
  return static_cast<double>(number);
}

CKPT_INLINE double total(const double* sums) {
  double fours[4];
  for (std::size_t i = 0; i < 4; ++i) fours[i] = (sums[i] + sums[4 + i]) + (sums[8 + i] + sums[12 + i]);
  return (fours[0] + fours[1]) + (fours[2] + fours[3]);
}

template <class T, class Width>
CKPT_INLINE void load(const std::byte* numbers, typename Width::Doubles& out) {
  if constexpr (sizeof(T) == sizeof(double))
    std::memcpy(&out, numbers, sizeof out);
  else
    Width::widen(numbers, out);
}

template <class T, class Width>
CKPT_INLINE double sum_of(const std::byte* numbers, std::size_t count) {
  constexpr std::size_t width = Width::size / sizeof(double), vectors = lanes / width;
  typename Width::Doubles sums[vectors]{};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      typename Width::Doubles x;
      load<T, Width>(numbers + (i + v * width) * sizeof(T), x);
      sums[v] += x;
    }
  }
  double all[lanes];
  std::memcpy(all, sums, sizeof all);
  double sum = total(all);
  for (; i < count; ++i) sum += load_one<T>(numbers, i);
  return sum;
}

template <class T, class Width>
CKPT_INLINE void measure(const std::byte* numbers, std::size_t count, double from, NumberFigures& out) {
  using Doubles = typename Width::Doubles;
  using Vector = typename Numbers<T, Width>::Vector;
  using Masks = typename Numbers<T, Width>::Masks;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr std::size_t width = Width::size / sizeof(double), vectors = lanes / width;
  constexpr std::size_t own_width = Width::size / sizeof(T), own_vectors = lanes / own_width;
  const Vector zero{};
  Doubles sums[vectors]{}, squares[vectors]{};
  Vector min[own_vectors], max[own_vectors];
  Masks zeros[own_vectors]{};
  for (std::size_t v = 0; v < own_vectors; ++v) min[v] = zero + infinity, max[v] = zero - infinity;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < own_vectors; ++v) {
      Vector x;
      std::memcpy(&x, numbers + (i + v * own_width) * sizeof(T), sizeof x);
      zeros[v] -= x == zero;
      min[v] = x < min[v] ? x : min[v];
      max[v] = x > max[v] ? x : max[v];
    }
#pragma GCC unroll 8
    for (std::size_t v = 0; v < vectors; ++v) {
      Doubles x;
      load<T, Width>(numbers + (i + v * width) * sizeof(T), x);
      x -= from;
      sums[v] += x;
      squares[v] += x * x;
    }
  }
  double all[lanes];
  std::memcpy(all, sums, sizeof all);
  out.distances = total(all);
  std::memcpy(all, squares, sizeof all);
  out.squares = total(all);
  out.min = infinity, out.max = -infinity;
  for (std::size_t v = 0; v < own_vectors; ++v) {
    for (std::size_t lane = 0; lane < own_width; ++lane) {
      out.min = min[v][lane] < out.min ? static_cast<double>(min[v][lane]) : out.min;
      out.max = max[v][lane] > out.max ? static_cast<double>(max[v][lane]) : out.max;
      out.zeros += static_cast<std::uint64_t>(zeros[v][lane]);
    }
  }
  for (; i < count; ++i) {
    const double x = load_one<T>(numbers, i), distance = x - from;
    out.distances += distance;
    out.squares += distance * distance;
    out.zeros += x == 0 ? 1 : 0;
    out.min = x < out.min ? x : out.min;
    out.max = x > out.max ? x : out.max;
  }
}

/// The numbers from `begin` on that fill no vector, or lie so near a bin's edge that a guess does not do.
template <class T>
void place_exactly(const std::byte* numbers, std::size_t begin, std::size_t end, const BinRule& rule,
                   std::uint8_t* places) {
  for (std::size_t i = begin; i < end; ++i) places[i] = static_cast<std::uint8_t>(rule.place(load_one<T>(numbers, i)));
}

/// The places of the numbers, as many together as a vector has bytes. Width gives Bins, those of both guesses at a
/// quarter of them, guess(address, how, bins), and pack(bins of four quarters, places), which returns false where two
/// guesses differ. The order of the places within a vector may be another than that of the numbers: nobody asks which
/// number lies where.
template <class Width, class T>
CKPT_INLINE void place_by(const BinRule::Guess<T>& how, const std::byte* numbers, std::size_t count,
                          const BinRule& rule, std::uint8_t* places) {
  constexpr std::size_t together = Width::size, quarter = together / 4;
  std::size_t i = 0;
  for (; how.narrow && i + together <= count; i += together) {
    typename Width::Bins bins[4];
#pragma GCC unroll 4
    for (std::size_t q = 0; q < 4; ++q) Width::guess(numbers + (i + q * quarter) * sizeof(T), how, bins[q]);
    if (!Width::pack(bins, places + i)) place_exactly<T>(numbers, i, i + together, rule, places);
  }
  place_exactly<T>(numbers, i, count, rule, places);
}

}  // namespace ckpt::number_loops
