#include "datasets/picture.h"

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "datasets/png.h"
#include "datasets/resize.h"

namespace ckpt::eval {
namespace {

Colour colour_of(const Pixels& pixels, const std::uint8_t* pixel) {
  switch (pixels.mode) {
    case PixelMode::bilevel:
    case PixelMode::grey:
    case PixelMode::grey_alpha:
      break;
    case PixelMode::grey16: {
      const std::uint8_t clamped = pixel[1] == 0 ? pixel[0] : 255;
      return {clamped, clamped, clamped};
    }
    case PixelMode::palette:
      return pixels.palette[*pixel];
    case PixelMode::rgb:
    case PixelMode::rgba:
      return {pixel[0], pixel[1], pixel[2]};
  }
  return {*pixel, *pixel, *pixel};
}

/// ITU-R 601 in 16 bits of fraction; a grey one stays as it is.
std::uint8_t luma(const Colour& colour) {
  return static_cast<std::uint8_t>((colour[0] * 19595U + colour[1] * 38470U + colour[2] * 7471U + 0x8000U) >> 16);
}

}  // namespace

std::vector<std::uint8_t> picture_tensor(std::span<const std::byte> png, const PictureShape& shape,
                                         const std::string& name) {
  if (shape.width == 0 || shape.width > limits::picture_side || shape.height == 0 ||
      shape.height > limits::picture_side || shape.width * shape.height > limits::picture_pixels)
    throw Error(ErrorCode::limit_exceeded,
                "a picture of " + std::to_string(shape.width) + " by " + std::to_string(shape.height) + " is asked for")
        .expected("1 to " + std::to_string(limits::picture_side) + " a side, " +
                  std::to_string(limits::picture_pixels) + " pixels at most");
  const Pixels pixels = resized(decode_png(png, name), shape.width, shape.height);
  std::vector<std::uint8_t> tensor(shape.bytes());
  const std::uint8_t* pixel = pixels.bytes.data();
  for (std::size_t y = 0; y < shape.height; ++y) {
    for (std::size_t x = 0; x < shape.width; ++x, pixel += bytes_a_pixel(pixels.mode)) {
      const Colour colour = colour_of(pixels, pixel);
      if (shape.layout == PictureLayout::grey_rows) {
        tensor[y * shape.width + x] = luma(colour);
      } else {
        for (std::size_t c = 0; c < 3; ++c) tensor[(c * shape.width + x) * shape.height + y] = colour[c];
      }
    }
  }
  return tensor;
}

std::vector<std::uint8_t> read_picture(const std::string& path, const PictureShape& shape) {
  const auto source = open_file(path);
  try {
    return picture_tensor(read_all(*source, limits::picture_bytes), shape, source->name());
  } catch (Error& error) {
    throw error.in(source->name());
  }
}

}  // namespace ckpt::eval
