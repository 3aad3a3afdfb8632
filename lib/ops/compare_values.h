#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/diff.h"
#include "ckpt/tensor.h"

namespace ckpt {

/// When elements count as equal. Bits of one dtype; else numbers, within the tolerances.
struct ValueRules {
  bool bits = true;
  double rtol = 0, atol = 0;
};

/// Why elements of the two dtypes cannot be compared; empty where they can.
std::string incomparable(DType a, DType b);

/// Compares the elements of two tensors of one shape, given piece by piece in the order of their indices.
class ValueComparison {
 public:
  /// `first`: where the elements to come begin (bytes, of packed dtypes), where others have those before.
  ValueComparison(const TensorInfo& a, const TensorInfo& b, const ValueRules& rules, std::uint64_t first = 0);

  /// The next elements of both, equally many.
  void add(std::span<const std::byte> a, std::span<const std::byte> b);

  /// Adds the elements that follow. Parts that begin at multiples of 1,024 elements come to the same as all at once.
  void join(const ValueComparison& rest);

  /// None where all are equal.
  [[nodiscard]] std::optional<ValueDifference> result() const;

 private:
  void add_packed(std::span<const std::byte> a, std::span<const std::byte> b);
  void add_stretch(std::span<const std::byte> a, std::span<const std::byte> b);
  template <class T>
  void add_numbers(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t count);
  void add_bits(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t count);
  void add_sum(double sum);
  void note(std::uint64_t place, std::span<const std::byte> a, std::span<const std::byte> b);

  DType dtype_a_, dtype_b_;
  std::vector<std::int64_t> shape_;
  ValueRules rules_;
  std::size_t size_a_, size_b_;  ///< bytes of an element
  bool numeric_, complex_, wide_;
  std::uint64_t place_ = 0;  ///< elements (bytes, of packed dtypes) so far
  double largest_ = 0;
  double sum_ = 0;            ///< of errors from the tensor's beginning
  std::vector<double> sums_;  ///< of each stretch, where others have the beginning
  bool has_beginning_;
  ValueDifference found_;
};

}  // namespace ckpt
