#include "datasets/sample_picture.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "datasets/shape.h"

namespace ckpt::eval {
namespace {

std::vector<std::uint8_t> drawn(const Samples& samples, std::uint64_t index) {
  const std::size_t size = samples.inputs.size() / static_cast<std::size_t>(samples.count);
  const std::byte* const sample = samples.inputs.data() + static_cast<std::size_t>(index) * size;
  std::vector<std::uint8_t> bytes(size / dtype_size(samples.dtype));
  if (samples.dtype == DType::uint8) {
    std::transform(sample, sample + size, bytes.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    return bytes;
  }
  std::vector<float> numbers(bytes.size());
  std::memcpy(numbers.data(), sample, numbers.size() * sizeof(float));
  double least = 0, greatest = 1;
  for (const float number : numbers) {
    if (!std::isfinite(number)) continue;
    least = std::min(least, static_cast<double>(number));
    greatest = std::max(greatest, static_cast<double>(number));
  }
  if (least < 0 || greatest > 1) {
    bool any = false;
    for (const float number : numbers) {
      if (!std::isfinite(number)) continue;
      least = any ? std::min(least, static_cast<double>(number)) : number;
      greatest = any ? std::max(greatest, static_cast<double>(number)) : number;
      any = true;
    }
  }
  const double scale = greatest > least ? 255 / (greatest - least) : 0;
  std::transform(numbers.begin(), numbers.end(), bytes.begin(), [&](float number) {
    return std::isfinite(number) ? static_cast<std::uint8_t>(std::lround((number - least) * scale)) : std::uint8_t{0};
  });
  return bytes;
}

/// Sizes of a picture, and how far a step goes among the sample's numbers.
struct Geometry {
  std::size_t width, height;
  std::size_t right, down, colour;
  bool rgb;
};

Geometry geometry_of(const Signature& signature, std::size_t numbers) {
  const auto square = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(numbers))));
  const Geometry rows{square, square, 1, square, 0, false};
  const auto& shape = signature.input;
  if (shape.size() < 2 || shape.size() > 3 || sample_elements(shape) != numbers) return rows;
  const auto first = static_cast<std::size_t>(shape[shape.size() - 2]), last = static_cast<std::size_t>(shape.back());
  if (shape.size() == 2 || shape[0] == 1) return {last, first, 1, last, 0, false};
  if (shape[0] != 3) return rows;
  if (signature.alphabet.empty()) return {last, first, 1, last, first * last, true};
  return {first, last, last, 1, first * last, true};
}

}  // namespace

Pixels to_pixels(const Samples& samples, std::uint64_t index, const Signature& signature) {
  const std::vector<std::uint8_t> bytes = drawn(samples, index);
  const Geometry from = geometry_of(signature, bytes.size());
  Pixels pixels;
  pixels.width = from.width;
  pixels.height = from.height;
  pixels.mode = from.rgb ? PixelMode::rgb : PixelMode::grey;
  for (std::size_t y = 0; y < from.height; ++y)
    for (std::size_t x = 0; x < from.width; ++x)
      for (std::size_t colour = 0; colour < bytes_a_pixel(pixels.mode); ++colour) {
        const std::size_t at = y * from.down + x * from.right + colour * from.colour;
        pixels.bytes.push_back(at < bytes.size() ? bytes[at] : std::uint8_t{0});
      }
  return pixels;
}

}  // namespace ckpt::eval
