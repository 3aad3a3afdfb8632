#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckpt/pictures.h"

namespace ckpt::eval {

/// The picture in the bytes of a PNG, as read_picture() makes it of a file of at most limits::picture_bytes. It is
/// resized in its own mode; alpha is dropped, and transparent colours stay as they are. Greyscale of 16 bits is not
/// scaled but ends at 255, as Pillow's.
///
///     const auto bytes = picture_tensor(file, captcha_picture, "00000-Q66Z.png");
///
/// `name` is what errors call the file. Thread-safe. Throws Error: what decode_png() throws.
std::vector<std::uint8_t> picture_tensor(std::span<const std::byte> png, const PictureShape& shape,
                                         const std::string& name);

}  // namespace ckpt::eval
