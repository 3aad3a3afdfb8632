#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/eval_export.h"

/// Pictures as the models of ckpt/eval.h are given them: for programs that make data sets. The header needs none of
/// libtorch's; the functions lie in libckpt_eval, which is linked with it.
///
///     for (const std::string& path : ckpt::eval::find_pictures("pictures"))
///       if (const auto code = ckpt::eval::label_of(path))
///         use(*code, ckpt::eval::read_picture(path, ckpt::eval::captcha_picture));
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

/// The picture in a PNG file as shape.bytes() bytes, each 0 to 255: what Pillow's
/// `Image.open(file).resize((width, height)).convert("RGB")` (or "L") gives (docs/pictures.md). Thread-safe.
/// Throws Error: unsupported (no PNG), corrupt, truncated, limit_exceeded (of the file, or of `shape`), io.
CKPT_EVAL_API std::vector<std::uint8_t> read_picture(const std::string& path, const PictureShape& shape);

/// Characters of a captcha's code.
inline constexpr std::size_t code_length = 4;

/// The code that a picture's file name tells, in lower case: NUMBER-CODE.png (00000-Q66Z.png) or CODE_ANYTHING.png
/// (GQT4_1539937370.png). A code is `length` of a–z, A–Z, 0–9; nothing where the name is of neither form.
/// Folders before the name do not count.
CKPT_EVAL_API std::optional<std::string> label_of(std::string_view path, std::size_t length = code_length);

/// All pictures (names that end in .png) in a folder and those under it, as paths that begin with `folder`, numbers in
/// names in numeric order (2.png before 10.png). Links are followed, each folder is entered once, and a link that leads
/// nowhere is among them, for whoever reads it to report. What is neither file nor folder, such as a pipe, is not.
/// Throws Error: io, where a folder cannot be read.
CKPT_EVAL_API std::vector<std::string> find_pictures(const std::string& folder);

}  // namespace ckpt::eval
