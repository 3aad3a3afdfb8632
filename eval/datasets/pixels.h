#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ckpt::eval {

/// What a pixel is before any conversion, as Pillow tells it: a picture is resized in the mode that it has.
enum class PixelMode {
  bilevel,     ///< "1": a byte, 0 or 255
  grey,        ///< "L"
  grey_alpha,  ///< "LA"
  grey16,      ///< "I;16": two bytes, the low one first
  palette,     ///< "P": an index
  rgb,         ///< "RGB"
  rgba,        ///< "RGBA", alpha not multiplied in
};

constexpr std::size_t bytes_a_pixel(PixelMode mode) {
  switch (mode) {
    case PixelMode::bilevel:
    case PixelMode::grey:
    case PixelMode::palette:
      return 1;
    case PixelMode::grey_alpha:
    case PixelMode::grey16:
      return 2;
    case PixelMode::rgb:
      return 3;
    case PixelMode::rgba:
      break;
  }
  return 4;
}

using Colour = std::array<std::uint8_t, 3>;

/// A decoded picture.
struct Pixels {
  std::size_t width = 0;
  std::size_t height = 0;
  PixelMode mode = PixelMode::grey;
  std::vector<std::uint8_t> bytes;       ///< rows from the top, pixel after pixel, no padding
  std::array<Colour, 256> palette = {};  ///< of mode palette; colours that the file does not name are black
};

}  // namespace ckpt::eval
