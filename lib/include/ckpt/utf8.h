#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ckpt/export.h"

namespace ckpt {

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 1;  ///< bytes it takes; 1 for a byte that is no UTF-8
  bool valid = false;
};

/// Halves of UTF-16 pairs, alone: no UTF-8, but a pickle's strings may hold them (Python's "surrogatepass").
enum class Surrogates : bool { refused, allowed };

/// The code point at `text[at]`, a byte of it; strict: no overlong forms, nothing past U+10FFFF.
CKPT_API CodePoint decode_utf8(std::string_view text, std::size_t at, Surrogates surrogates = Surrogates::refused);

/// Whether all of it is UTF-8, as strict.
CKPT_API bool is_utf8(std::string_view text, Surrogates surrogates = Surrogates::refused);

/// Appends what stands for `point`, which is U+10FFFF at most; a surrogate like any other.
CKPT_API void append_utf8(std::string& to, char32_t point);

}  // namespace ckpt
