#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt::eval {

/// Characters of a captcha's code.
inline constexpr std::size_t code_length = 4;

/// The code that a picture's file name tells, in lower case: NUMBER-CODE.png (00000-Q66Z.png) or CODE_ANYTHING.png
/// (GQT4_1539937370.png). A code is `length` of a–z, A–Z, 0–9; nothing where the name is of neither form.
/// Folders before the name do not count.
std::optional<std::string> label_of(std::string_view path, std::size_t length = code_length);

}  // namespace ckpt::eval
