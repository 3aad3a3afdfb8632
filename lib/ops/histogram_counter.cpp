#include "ops/histogram_counter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "io/bytes.h"
#include "ops/number_kernels.h"

namespace ckpt {

HistogramCounter::HistogramCounter(double min, double max, std::size_t bins) : min_(min), max_(max), counts_(bins) {
  if (min_ == max_) --min_, ++max_;
  constant_ = min_ == max_;
  if (!std::isfinite((max_ - min_) * static_cast<double>(bins))) scale_ = 0x1p-64;
}

template <class T>
void HistogramCounter::add(const std::byte* numbers, std::size_t count, std::uint64_t times) {
  if (constant_) return void(counts_[counts_.size() / 2] += count * times);
  std::array<std::int32_t, moments_block> places;
  const auto bins = static_cast<double>(counts_.size());
  if (scale_ == 1) {
    find_bins<T>(numbers, count, min_, max_, bins, places.data());
  } else {
    std::array<double, moments_block> scaled;
    for (std::size_t i = 0; i < count; ++i)
      scaled[i] = static_cast<double>(load_le<T>(numbers + i * sizeof(T))) * scale_;
    const auto* const bytes = reinterpret_cast<const std::byte*>(scaled.data());
    find_bins<double>(bytes, count, min_ * scale_, max_ * scale_, bins, places.data());
  }
  // The largest number belongs to the last bin.
  const auto last = static_cast<std::int32_t>(counts_.size() - 1);
  for (std::size_t i = 0; i < count; ++i) counts_[static_cast<std::size_t>(std::min(places[i], last))] += times;
}

Histogram HistogramCounter::result() const { return counts_.empty() ? Histogram() : Histogram{min_, max_, counts_}; }

template void HistogramCounter::add<float>(const std::byte*, std::size_t, std::uint64_t);
template void HistogramCounter::add<double>(const std::byte*, std::size_t, std::uint64_t);

}  // namespace ckpt
