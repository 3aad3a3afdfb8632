#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

struct NumberSums {
  double sum = 0, min = 0, max = 0;  ///< min and max: of those that are no NaN
  std::uint64_t zeros = 0;
};

/// The loops of statistics over `count` numbers, `T` float or double, at any address. All is computed in double and in
/// the same order on every machine; some machines do four at a time.
template <class T>
NumberSums sum_numbers(const std::byte* numbers, std::size_t count);

/// The sums of the distances to `mean` and of their squares.
struct Distances {
  double sum = 0, squares = 0;
};
template <class T>
Distances sum_distances(const std::byte* numbers, std::size_t count, double mean);

/// In which of `bins` bins between `min` and `max` each number lies, truncated as torch.histc does; max lies in bin
/// `bins`. All numbers lie between them, and (max - min) * bins is finite.
template <class T>
void find_bins(const std::byte* numbers, std::size_t count, double min, double max, double bins, std::int32_t* out);

}  // namespace ckpt
