#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ckpt::eval {

/// Which bytes a model is given, and in which order.
enum class PictureLayout {
  rgb_columns,  ///< (C, W, H): red, green, blue; each column after column, from the left and from the top
  grey_rows,    ///< (H, W): row after row
};

/// What a picture is made into, whatever its own size and colours.
struct PictureShape {
  std::size_t width;
  std::size_t height;
  PictureLayout layout;

  [[nodiscard]] constexpr std::size_t bytes() const {
    return width * height * (layout == PictureLayout::rgb_columns ? 3 : 1);
  }
};

inline constexpr PictureShape captcha_picture{56, 24, PictureLayout::rgb_columns};
inline constexpr PictureShape digit_picture{28, 28, PictureLayout::grey_rows};

/// The picture in the bytes of a PNG as shape.bytes() bytes, each 0 to 255: what Pillow's
/// `Image.open(file).resize((width, height)).convert("RGB")` (or "L") gives. It is resized in its own mode; alpha is
/// dropped, and transparent colours stay as they are. Greyscale of 16 bits is not scaled but ends at 255, as Pillow's.
///
///     const auto bytes = picture_tensor(file, captcha_picture, "00000-Q66Z.png");
///
/// `name` is what errors call the file. Thread-safe. Throws Error: what decode_png() throws.
std::vector<std::uint8_t> picture_tensor(std::span<const std::byte> png, const PictureShape& shape,
                                         const std::string& name);

/// The same of a file of at most limits::picture_bytes. Throws Error: io too.
std::vector<std::uint8_t> read_picture(const std::string& path, const PictureShape& shape);

}  // namespace ckpt::eval
