#include "ops/histogram_counter.h"

#include <array>
#include <cmath>

#include "io/bytes.h"

namespace ckpt {

HistogramCounter::HistogramCounter(double min, double max, std::size_t bins, const NumberKernels& kernels)
    : min_(min), max_(max), kernels_(&kernels), last_(bins - 1), counts_(bins) {
  if (min_ == max_) --min_, ++max_;
  constant_ = min_ == max_;
  if (!std::isfinite((max_ - min_) * static_cast<double>(bins))) scale_ = 0x1p-64;
  if (!constant_) rule_ = BinRule(min_ * scale_, max_ * scale_, bins);
}

void HistogramCounter::expect(double least, double most) {
  first_ = place(least);
  last_ = place(most);
}

template <class T>
void HistogramCounter::add(const std::byte* numbers, std::size_t count) {
  if (first_ == last_) return void(counts_[first_] += count);
  if (scale_ == 1 && counts_.size() <= most_byte_bins) return add_placed<T>(numbers, count);
  for (std::size_t i = 0; i < count; ++i) ++counts_[place(static_cast<double>(load_le<T>(numbers + i * sizeof(T))))];
}

template <class T>
void HistogramCounter::add_placed(const std::byte* numbers, std::size_t count) {
  std::array<std::uint8_t, moments_block> places;
  if constexpr (sizeof(T) == sizeof(float))
    kernels_->place_floats(numbers, count, rule_, places.data());
  else
    kernels_->place_doubles(numbers, count, rule_, places.data());
  kernels_->count_places(places.data(), count, first_, last_, counts_.data());
}

template void HistogramCounter::add<float>(const std::byte*, std::size_t);
template void HistogramCounter::add<double>(const std::byte*, std::size_t);

}  // namespace ckpt
