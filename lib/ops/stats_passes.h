#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ckpt/stats.h"
#include "ops/histogram_counter.h"
#include "ops/moments.h"
#include "ops/view_sweep.h"

namespace ckpt {

/// The least and the greatest of integers that a double cannot hold.
template <class T>
struct Extremes {
  T min = std::numeric_limits<T>::max(), max = std::numeric_limits<T>::min();

  void add(std::span<const std::byte> elements);
  void add(const Extremes& other);
};

/// What the first pass finds of a view: all but its histogram.
struct ViewMoments {
  Moments moments;
  Extremes<std::int64_t> integers;
  Extremes<std::uint64_t> naturals;

  void add(const ViewMoments& other);
};

/// Adds to `found`, which has a place for each view.
std::unique_ptr<ViewVisitor> moments_visitor(std::span<const SweptView> views, std::vector<ViewMoments>& found);

/// Throws Error (limit_exceeded) where histograms of so many tensors would not stay in bounded memory.
void check_bins(std::size_t histograms, std::size_t bins);

/// The second pass counts the finite numbers in bins between what the first one found.
class HistogramPass {
 public:
  /// `found` is of each view as often as it shows an element, `all` of all floating ones.
  HistogramPass(std::span<const SweptView> views, const std::vector<ViewMoments>& found, const Moments& all,
                std::size_t bins, bool counts_all);

  std::unique_ptr<ViewVisitor> visitor();

  [[nodiscard]] Histogram of(std::size_t view) const;
  [[nodiscard]] Histogram of_all() const;

 private:
  class Visitor;
  using Counts = std::vector<std::uint64_t>;

  std::span<const SweptView> views_;
  const std::vector<ViewMoments>& found_;
  std::size_t bins_;
  std::optional<HistogramCounter> all_;  ///< where it is counted
  std::vector<Counts> counts_;           ///< of each view
  Counts counts_of_all_;
};

}  // namespace ckpt
