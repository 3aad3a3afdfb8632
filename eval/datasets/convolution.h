#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ckpt::eval {

/// Samples as a block of `before` × `length` × `after`, of which the middle side is resized: the pixels of rows
/// (before: rows, after: channels) or the rows of a picture (before: 1, after: bytes of a row).
struct Axis {
  std::size_t before;
  std::size_t length;
  std::size_t after;
};

/// The block with `length` samples along its middle side: Pillow's bicubic filter (a = −0.5), as wide as the samples
/// that become one where there will be fewer. 8-bit samples are summed in fixed point of 22 bits, 16-bit ones in
/// doubles.
std::vector<std::uint8_t> convolved(std::span<const std::uint8_t> samples, const Axis& axis, std::size_t length);
std::vector<std::uint16_t> convolved(std::span<const std::uint16_t> samples, const Axis& axis, std::size_t length);

}  // namespace ckpt::eval
