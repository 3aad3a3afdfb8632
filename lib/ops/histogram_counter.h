#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ckpt/stats.h"
#include "ops/moments.h"
#include "ops/number_kernels.h"

namespace ckpt {

/// Counts finite numbers in bins as torch.histc(x, bins, min, max) does.
class HistogramCounter {
 public:
  /// `min` and `max`: of the numbers to come.
  HistogramCounter(double min, double max, std::size_t bins, const NumberKernels& kernels = best_numbers());

  /// The numbers to come next lie between these, which lie between those of all.
  void expect(double least, double most);

  /// At most moments_block finite numbers; `T` is float or double.
  template <class T>
  void add(const std::byte* numbers, std::size_t count);

  void clear() { std::fill(counts_.begin(), counts_.end(), 0); }
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  /// With counts of its own, which may be of several counters.
  [[nodiscard]] Histogram histogram(std::vector<std::uint64_t> counts) const { return {min_, max_, std::move(counts)}; }

 private:
  template <class T>
  void add_placed(const std::byte* numbers, std::size_t count);
  [[nodiscard]] std::size_t place(double number) const {
    return constant_ ? counts_.size() / 2 : static_cast<std::size_t>(rule_.place(number * scale_));
  }

  double min_, max_;
  bool constant_ = false;  ///< all numbers are one that 1 is nothing to
  double scale_ = 1;       ///< below 1 where the range would pass what a double holds
  BinRule rule_;
  const NumberKernels* kernels_;
  std::size_t first_ = 0, last_;  ///< of the bins that the next numbers may lie in
  std::vector<std::uint64_t> counts_;
};

}  // namespace ckpt
