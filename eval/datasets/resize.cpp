#include "datasets/resize.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "datasets/convolution.h"

namespace ckpt::eval {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Where each of `to` samples is taken from. The sum is Pillow's: it gathers rounding errors as that one does.
std::vector<std::size_t> nearest(std::size_t from, std::size_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  std::vector<std::size_t> indices(to);
  double centre = step * 0.5;
  for (auto& index : indices) {
    index = std::min(static_cast<std::size_t>(centre), from - 1);
    centre += step;
  }
  return indices;
}

Bytes take_nearest(const Pixels& from, std::size_t width, std::size_t height) {
  const auto columns = nearest(from.width, width);
  Bytes out;
  out.reserve(width * height);
  for (const std::size_t y : nearest(from.height, height)) {
    for (const std::size_t x : columns) out.push_back(from.bytes[y * from.width + x]);
  }
  return out;
}

/// Since version 13 Pillow takes the height first where it shrinks by more than twice what the width does. Each pass
/// rounds, so the order is seen in the result.
bool height_goes_first(const Pixels& from, std::size_t width, std::size_t height) {
  const auto lost = [](std::size_t before, std::size_t after) { return before > after ? before - after : 0; };
  return lost(from.height, height) > 2 * lost(from.width, width);
}

template <class Sample>
std::vector<Sample> bicubic(std::vector<Sample> samples, const Pixels& from, std::size_t channels, std::size_t width,
                            std::size_t height) {
  const auto to_width = [&](std::size_t rows) {
    if (width != from.width) samples = convolved(samples, {rows, from.width, channels}, width);
  };
  const auto to_height = [&](std::size_t columns) {
    if (height != from.height) samples = convolved(samples, {1, from.height, columns * channels}, height);
  };
  if (height_goes_first(from, width, height)) {
    to_height(from.width);
    to_width(height);
  } else {
    to_width(from.height);
    to_height(width);
  }
  return samples;
}

Bytes bicubic16(const Pixels& from, std::size_t width, std::size_t height) {
  std::vector<std::uint16_t> samples(from.bytes.size() / 2);
  std::memcpy(samples.data(), from.bytes.data(), from.bytes.size());
  samples = bicubic(std::move(samples), from, 1, width, height);
  Bytes out(samples.size() * 2);
  std::memcpy(out.data(), samples.data(), out.size());
  return out;
}

/// Calls `change(colour, alpha)` for each colour byte of pixels whose last of `channels` bytes is alpha.
template <class Change>
void with_alpha(Bytes& bytes, std::size_t channels, const Change& change) {
  for (std::size_t pixel = 0; pixel < bytes.size(); pixel += channels) {
    const unsigned alpha = bytes[pixel + channels - 1];
    for (std::size_t i = pixel; i + 1 < pixel + channels; ++i) {
      bytes[i] = static_cast<std::uint8_t>(change(bytes[i], alpha));
    }
  }
}

unsigned multiplied(unsigned colour, unsigned alpha) {
  const unsigned product = colour * alpha + 128;
  return (product + (product >> 8)) >> 8;  // divided by 255, rounded
}

unsigned divided(unsigned colour, unsigned alpha) { return alpha == 0 ? colour : std::min(colour * 255 / alpha, 255U); }

Bytes resized_bytes(const Pixels& from, std::size_t width, std::size_t height) {
  const std::size_t channels = bytes_a_pixel(from.mode);
  switch (from.mode) {
    case PixelMode::bilevel:
    case PixelMode::palette:
      return take_nearest(from, width, height);
    case PixelMode::grey16:
      return bicubic16(from, width, height);
    case PixelMode::grey:
    case PixelMode::rgb:
      return bicubic(from.bytes, from, channels, width, height);
    case PixelMode::grey_alpha:
    case PixelMode::rgba:
      break;
  }
  Bytes bytes = from.bytes;
  with_alpha(bytes, channels, multiplied);
  bytes = bicubic(std::move(bytes), from, channels, width, height);
  with_alpha(bytes, channels, divided);
  return bytes;
}

}  // namespace

Pixels resized(const Pixels& from, std::size_t width, std::size_t height) {
  if (width == from.width && height == from.height) return from;
  return {.width = width,
          .height = height,
          .mode = from.mode,
          .bytes = resized_bytes(from, width, height),
          .palette = from.palette};
}

}  // namespace ckpt::eval
