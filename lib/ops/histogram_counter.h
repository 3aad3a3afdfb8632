#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ckpt/stats.h"
#include "ops/moments.h"

namespace ckpt {

/// Counts finite numbers in bins as torch.histc(x, bins, min, max) does.
class HistogramCounter {
 public:
  /// `min` and `max`: of the numbers to come; 0 bins where none come.
  HistogramCounter(double min, double max, std::size_t bins);

  /// At most moments_block finite numbers, each counted `times`; `T` is float or double.
  template <class T>
  void add(const std::byte* numbers, std::size_t count, std::uint64_t times);

  [[nodiscard]] Histogram result() const;

 private:
  double min_, max_;
  bool constant_ = false;  ///< all numbers are one that 1 is nothing to
  double scale_ = 1;       ///< below 1 where the range would pass what a double holds
  std::vector<std::uint64_t> counts_;
};

}  // namespace ckpt
