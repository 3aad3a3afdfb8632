#include "io/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ckpt {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // 0 where the bytes are no UTF-8
};

CodePoint decode(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  std::size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf)
    length = 2;
  else if (first >= 0xe0 && first <= 0xef)
    length = 3;
  else if (first >= 0xf0 && first <= 0xf4)
    length = 4;
  if (length == 0 || text.size() < length) return {};
  std::uint32_t value = first & (0xffU >> (length + 1));
  for (char c : text.substr(1, length - 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) return {};
    value = value << 6 | (byte & 0x3fU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (overlong || surrogate || value > 0x10ffff) return {};
  return {value, length};
}

bool is_control(std::uint32_t value) { return value < 0x20 || (value >= 0x7f && value <= 0x9f); }

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode(text);
    const std::size_t length = std::max<std::size_t>(point.length, 1);
    if (point.length != 0 && !is_control(point.value)) {
      shown += text.substr(0, length);
    } else {
      for (char c : text.substr(0, length)) {
        const auto byte = static_cast<unsigned char>(c);
        shown += "\\x";
        shown += digits[byte >> 4];
        shown += digits[byte & 0xf];
      }
    }
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace ckpt
