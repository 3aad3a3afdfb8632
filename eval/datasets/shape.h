#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ckpt::eval {

using Shape = std::vector<std::int64_t>;

/// Its dimensions but for those of size 1.
Shape without_ones(Shape shape);

/// Numbers in all. Throws Error: corrupt (a negative size), limit_exceeded (more than one sample may have).
std::uint64_t sample_elements(const Shape& shape);

/// How a sample as the data has it becomes one as a model takes it: the same numbers, perhaps in another order.
class Fit {
 public:
  Fit() = default;
  /// A model that takes one dimension takes as many numbers of any shape ({784}: [28, 28], [1, 28, 28]); dimensions of
  /// size 1 do not count; pictures of {C, W, H} may be (H, W, C) or (C, H, W). An empty `model` takes what there is.
  /// Throws Error (unsupported), naming both.
  Fit(const Shape& data, const Shape& model);

  /// Numbers of a sample.
  [[nodiscard]] std::uint64_t elements() const { return elements_; }

  /// Rearranges samples of `size` bytes a number, where they stand.
  void apply(std::span<std::byte> samples, std::size_t size) const;

 private:
  std::uint64_t elements_ = 0;
  /// Of what comes out: sizes of its three dimensions, and how far a step along each goes in what came. Empty: as it
  /// is.
  std::vector<std::size_t> sizes_, steps_;
};

}  // namespace ckpt::eval
