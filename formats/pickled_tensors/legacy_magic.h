#pragma once

#include <string_view>

namespace ckpt::torch {

/// The number that a file of PyTorch's before 1.6 begins with: 0x1950a86a20f9469cfc6c, little-endian.
inline constexpr std::string_view legacy_magic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

}  // namespace ckpt::torch
