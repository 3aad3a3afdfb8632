#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

/// In which of a histogram's bins a number lies, as torch.histc computes it.
class BinRule {
 public:
  BinRule() = default;
  /// (max - min) * bins is finite, max above min.
  BinRule(double min, double max, std::size_t bins);

  /// Truncated, the largest number in the last bin. `number` lies between min and max.
  [[nodiscard]] std::int32_t place(double number) const {
    const auto place = static_cast<std::int32_t>((number - min) * bins / range);
    return place < last ? place : last;
  }

  /// A number x lies between the bins of x * scale + low and x * scale + high, truncated, computed in `T`, with fused
  /// multiplication or without: mostly in both.
  template <class T>
  struct Guess {
    T scale = 0, low = 0, high = 0;
    bool narrow = false;  ///< worth computing: nearly always both are one bin
  };

  double min = 0, range = 1, bins = 1;
  std::int32_t last = 0;
  Guess<float> floats;
  Guess<double> doubles;
};

}  // namespace ckpt
