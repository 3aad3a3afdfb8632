#include "ops/number_loops.h"

namespace ckpt {
namespace {

struct Width : number_loops::Vectors<16> {
  CKPT_INLINE static void widen(const std::byte* floats, Doubles& out) {
    out = Doubles{number_loops::load_one<float>(floats, 0), number_loops::load_one<float>(floats, 1)};
  }
};

template <class T>
double sum(const std::byte* numbers, std::size_t count) {
  return number_loops::sum_of<T, Width>(numbers, count);
}

template <class T>
NumberFigures measure(const std::byte* numbers, std::size_t count, double from) {
  NumberFigures out;
  number_loops::measure<T, Width>(numbers, count, from, out);
  return out;
}

template <class T>
void place(const std::byte* numbers, std::size_t count, const BinRule& rule, std::uint8_t* places) {
  number_loops::place_exactly<T>(numbers, 0, count, rule, places);
}

/// Places that follow one another are often the same one, and a counter is not had again before it has been written.
void count_places(std::uint8_t* places, std::size_t count, std::size_t first, std::size_t last, std::uint64_t* counts) {
  constexpr std::size_t tables = 4;
  std::uint32_t found[tables][most_byte_bins + 1]{};
  std::size_t i = 0;
  for (; i + tables <= count; i += tables)
    for (std::size_t table = 0; table < tables; ++table) ++found[table][places[i + table]];
  for (; i < count; ++i) ++found[0][places[i]];
  for (std::size_t bin = first; bin <= last; ++bin)
    for (const auto& table : found) counts[bin] += table[bin];
}

}  // namespace

const NumberKernels portable_numbers{sum<float>,   sum<double>,   measure<float>, measure<double>,
                                     place<float>, place<double>, count_places};

const NumberKernels& best_numbers() {
  if (const NumberKernels* const kernels = avx512_numbers()) return *kernels;
  if (const NumberKernels* const kernels = avx2_numbers()) return *kernels;
  return portable_numbers;
}

}  // namespace ckpt
