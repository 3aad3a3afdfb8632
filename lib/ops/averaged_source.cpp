#include "ops/averaged_source.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "ops/cast_elements.h"
#include "ops/numbers.h"

namespace ckpt {
namespace {

constexpr std::size_t block = 8192;  ///< numbers at a time

/// What is averaged of a complex dtype: its parts.
DType part_of(DType dtype) {
  switch (dtype) {
    case DType::complex32:
      return DType::float16;
    case DType::complex64:
      return DType::float32;
    case DType::complex128:
      return DType::float64;
    default:
      return dtype;
  }
}

class AveragedSource final : public ByteSource {
 public:
  AveragedSource(std::vector<AverageStep> steps, double divisor, DType to)
      : ByteSource(steps.back().elements->source_name()),
        steps_(std::move(steps)),
        divisor_(divisor),
        to_(part_of(to)) {
    for (AverageStep& step : steps_) step.dtype = part_of(step.dtype);
    numbers_ = steps_.back().elements->size() / dtype_size(steps_.back().dtype);
  }

  [[nodiscard]] std::uint64_t size() const override { return numbers_ * dtype_size(to_); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - std::min(offset, size())));
    const std::lock_guard lock(mutex_);
    for (std::size_t done = 0; done < wanted;) {
      const std::uint64_t first = (offset + done) / dtype_size(to_) / block * block;
      if (made_.empty() || first != first_) make(first);
      const auto skip = static_cast<std::size_t>(offset + done - first * dtype_size(to_));
      const std::size_t count = std::min(made_.size() - skip, wanted - done);
      std::copy_n(made_.begin() + static_cast<std::ptrdiff_t>(skip), count,
                  out.begin() + static_cast<std::ptrdiff_t>(done));
      done += count;
    }
    if (offset + wanted == size()) forget();
    return wanted;
  }

 private:
  void make(std::uint64_t first) const {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(block, numbers_ - first));
    sums_.resize(block);
    next_.resize(block);
    made_.clear();
    for (const AverageStep& step : steps_) {
      read_numbers(step, first, count);
      const bool is_first = &step == &steps_.front();
      for (std::size_t i = 0; i < count; ++i)
        sums_[i] = is_first ? next_[i] * step.take : sums_[i] * step.keep + next_[i] * step.take;
    }
    for (std::size_t i = 0; i < count; ++i) sums_[i] /= divisor_;
    made_.resize(count * dtype_size(to_));
    cast_elements(DType::float64, to_, std::as_bytes(std::span(sums_).first(count)), made_);
    first_ = first;
  }

  void read_numbers(const AverageStep& step, std::uint64_t first, std::size_t count) const {
    const std::size_t item = dtype_size(step.dtype);
    read_.resize(count * item);
    step.elements->read_exactly(first * item, read_);
    if (is_floating(step.dtype))
      cast_elements(step.dtype, DType::float64, read_, std::as_writable_bytes(std::span(next_).first(count)));
    else
      to_numbers(step.dtype, read_, false, next_.data());
  }

  void forget() const {
    for (auto* const numbers : {&sums_, &next_}) std::vector<double>().swap(*numbers);
    std::vector<std::byte>().swap(made_);
    std::vector<std::byte>().swap(read_);
  }

  std::vector<AverageStep> steps_;
  double divisor_;
  DType to_;
  std::uint64_t numbers_ = 0;
  mutable std::mutex mutex_;         ///< of what follows
  mutable std::uint64_t first_ = 0;  ///< number that made_ begins with
  mutable std::vector<std::byte> made_, read_;
  mutable std::vector<double> sums_, next_;
};

}  // namespace

ByteSourcePtr averaged_source(std::vector<AverageStep> steps, double divisor, DType to) {
  return std::make_shared<AveragedSource>(std::move(steps), divisor, to);
}

}  // namespace ckpt
