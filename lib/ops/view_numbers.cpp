#include "ops/view_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/cast_elements.h"
#include "ops/moments.h"
#include "ops/numbers.h"
#include "ops/tensor_bytes.h"

namespace ckpt {

bool ViewNumbers::can_count(const TensorInfo& info) {
  return is_numeric(info.dtype) && (dtype_per_byte(info.dtype) == 1 || is_contiguous(info));
}

void ViewNumbers::begin(const TensorInfo& info, std::uint64_t done) {
  dtype_ = info.dtype;
  negative_ = info.negative;
  done_ = done;
  elements_ = element_count(info);
}

void ViewNumbers::add(std::span<const std::byte> elements) {
  const std::size_t block = moments_block * dtype_size(dtype_);
  while (!elements.empty()) {
    const std::size_t size = std::min(elements.size(), block - pending_.size());
    const auto piece = elements.first(size);
    elements = elements.subspan(size);
    if (size == block) {
      convert(piece);
      continue;
    }
    pending_.insert(pending_.end(), piece.begin(), piece.end());
    if (pending_.size() == block) end();
  }
}

void ViewNumbers::end() {
  if (!pending_.empty()) convert(pending_);
  pending_.clear();
}

void ViewNumbers::convert(std::span<const std::byte> elements) {
  if (dtype_per_byte(dtype_) > 1) return unpack_all(elements);
  const std::size_t count = elements.size() / dtype_size(dtype_);
  std::vector<std::byte> turned;
  if (negative_) {
    turned.assign(elements.begin(), elements.end());
    turn_signs({.dtype = dtype_, .negative = true}, turned);
    elements = turned;
  }
  if (dtype_ == DType::float32 || dtype_ == DType::float64)
    return use_({elements.data(), count, dtype_ == DType::float32, elements});
  const bool short_floats = is_floating(dtype_) && dtype_size(dtype_) < sizeof(float);
  if (short_floats) {
    std::array<float, moments_block> floats;
    cast_elements(dtype_, DType::float32, elements, std::as_writable_bytes(std::span(floats)));
    return use_({reinterpret_cast<const std::byte*>(floats.data()), count, true, elements});
  }
  std::array<double, 2 * moments_block> numbers;
  to_numbers(dtype_, elements, is_complex(dtype_), numbers.data());
  if (is_complex(dtype_))
    for (std::size_t i = 0; i < count; ++i) numbers[i] = std::hypot(numbers[2 * i], numbers[2 * i + 1]);
  use_({reinterpret_cast<const std::byte*>(numbers.data()), count, false, elements});
}

/// Elements lie one after the other, whatever the rows; what is left over behind the last is no element.
void ViewNumbers::unpack_all(std::span<const std::byte> bytes) {
  const std::size_t per_byte = dtype_per_byte(dtype_);
  std::array<double, 4 * moments_block> numbers;
  std::size_t count = 0;
  for (const std::byte byte : bytes) {
    const std::uint64_t first = done_++ * per_byte;
    for (std::size_t i = 0; i < per_byte && first + i < elements_; ++i)
      numbers[count++] = std::to_integer<unsigned>(unpack(dtype_, byte, i));
  }
  for (std::size_t at = 0; at < count; at += moments_block)
    use_({reinterpret_cast<const std::byte*>(numbers.data() + at), std::min(moments_block, count - at), false, {}});
}

}  // namespace ckpt
