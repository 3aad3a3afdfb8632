#include "datasets/shape.h"

#include <algorithm>
#include <cstring>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/shape.h"

namespace ckpt::eval {

Shape without_ones(Shape shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

std::uint64_t sample_elements(const Shape& shape) {
  std::uint64_t elements = 1;
  bool too_many = false;
  for (const std::int64_t size : shape) {
    if (size < 0) throw Error(ErrorCode::corrupt, "a sample has the shape " + shape_text(shape));
    too_many = too_many || __builtin_mul_overflow(elements, static_cast<std::uint64_t>(size), &elements) ||
               elements > limits::sample_elements;
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  if (too_many) {
    throw Error(ErrorCode::limit_exceeded, "a sample has the shape " + shape_text(shape))
        .expected("at most " + std::to_string(limits::sample_elements) + " numbers");
  }
  return elements;
}

Fit::Fit(const Shape& data, const Shape& model) : elements_(sample_elements(data)) {
  const Shape from = without_ones(data), to = without_ones(model);
  if (model.empty() || from == to) return;
  if (model.size() == 1 && sample_elements(model) == elements_) return;
  if (from.size() == 3 && to.size() == 3) {
    const auto planes = static_cast<std::size_t>(to[0]), width = static_cast<std::size_t>(to[1]),
               height = static_cast<std::size_t>(to[2]);
    sizes_ = {planes, width, height};
    if (from == Shape{to[2], to[1], to[0]}) steps_ = {1, planes, width * planes};
    if (from == Shape{to[0], to[2], to[1]}) steps_ = {height * width, 1, width};
    if (!steps_.empty()) return;
  }
  throw Error(ErrorCode::unsupported, "its samples have the shape " + shape_text(data))
      .expected(shape_text(model) + " as the model takes them")
      .hint("name a test set that was made for this model: ckpt eval MODEL --data PATH");
}

void Fit::apply(std::span<std::byte> samples, std::size_t size) const {
  if (steps_.empty() || samples.empty()) return;
  std::vector<std::byte> sample(static_cast<std::size_t>(elements_) * size);
  for (std::byte* at = samples.data(); at != samples.data() + samples.size(); at += sample.size()) {
    std::memcpy(sample.data(), at, sample.size());
    std::byte* out = at;
    for (std::size_t plane = 0; plane < sizes_[0]; ++plane)
      for (std::size_t x = 0; x < sizes_[1]; ++x)
        for (std::size_t y = 0; y < sizes_[2]; ++y, out += size)
          std::memcpy(out, sample.data() + (plane * steps_[0] + x * steps_[1] + y * steps_[2]) * size, size);
  }
}

}  // namespace ckpt::eval
