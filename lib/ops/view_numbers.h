#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ckpt/dtype.h"
#include "ckpt/tensor.h"

namespace ckpt {

/// A block of a view's elements as numbers: `floats` of them, or doubles, little-endian, at any address.
struct NumberBlock {
  const std::byte* numbers = nullptr;
  std::size_t count = 0;
  bool floats = false;
  std::span<const std::byte> elements;  ///< that they were made of; empty where several share a byte
};

/// Makes blocks of numbers, as statistics take them, of elements that come in pieces of any size: of complex ones their
/// absolute values, of a negative view the negatives. Holds a block or two.
class ViewNumbers {
 public:
  explicit ViewNumbers(std::function<void(const NumberBlock&)> use) : use_(std::move(use)) {}

  /// True of dtypes whose elements are numbers, and of packed ones where it can be told which bits belong to the
  /// tensor.
  static bool can_count(const TensorInfo& info);

  /// What comes next are elements of this tensor, from byte `done` of all its elements on.
  void begin(const TensorInfo& info, std::uint64_t done = 0);
  void add(std::span<const std::byte> elements);
  /// Hands on what is left.
  void end();

 private:
  void convert(std::span<const std::byte> elements);
  void unpack_all(std::span<const std::byte> bytes);

  std::function<void(const NumberBlock&)> use_;
  DType dtype_{};
  bool negative_ = false;
  std::uint64_t elements_ = 0, done_ = 0;  ///< of a packed dtype: in all, and the bytes before what comes next
  std::vector<std::byte> pending_;
};

}  // namespace ckpt
