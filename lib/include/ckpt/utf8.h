#pragma once

#include <cstddef>
#include <string_view>

#include "ckpt/export.h"

namespace ckpt {

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 1;  ///< bytes it takes; 1 for a byte that is no UTF-8
  bool valid = false;
};

/// The code point at `text[at]`; strict: no overlong forms, no surrogates, nothing past U+10FFFF.
CKPT_API CodePoint decode_utf8(std::string_view text, std::size_t at);

/// Whether all of it is UTF-8, as strict.
CKPT_API bool is_utf8(std::string_view text);

}  // namespace ckpt
