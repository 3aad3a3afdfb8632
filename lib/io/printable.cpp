#include "io/printable.h"

#include "ckpt/utf8.h"

namespace ckpt {
namespace {

bool is_control(char32_t value) { return value < 0x20 || (value >= 0x7f && value <= 0x9f); }

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text, 0);
    if (point.valid && !is_control(point.value)) {
      shown += text.substr(0, point.size);
    } else {
      for (char c : text.substr(0, point.size)) {
        const auto byte = static_cast<unsigned char>(c);
        shown += "\\x";
        shown += digits[byte >> 4];
        shown += digits[byte & 0xf];
      }
    }
    text.remove_prefix(point.size);
  }
  return shown;
}

}  // namespace ckpt
