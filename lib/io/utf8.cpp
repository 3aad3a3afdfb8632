#include "ckpt/utf8.h"

#include <array>

namespace ckpt {

CodePoint decode_utf8(std::string_view text, std::size_t at, Surrogates surrogates) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < size) return {lead, 1, false};
  char32_t value = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {lead, 1, false};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool refused = surrogates == Surrogates::refused && value >= 0xD800 && value <= 0xDFFF;
  if (value < least[size] || value > 0x10FFFF || refused) return {lead, 1, false};
  return {value, size, true};
}

bool is_utf8(std::string_view text, Surrogates surrogates) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at, surrogates);
    if (!point.valid) return false;
    at += point.size;
  }
  return true;
}

void append_utf8(std::string& to, char32_t point) {
  const auto tail = [&](int shift) { to += static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    to += static_cast<char>(point);
  } else if (point < 0x800) {
    to += static_cast<char>(0xC0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    to += static_cast<char>(0xE0 | point >> 12);
    tail(6), tail(0);
  } else {
    to += static_cast<char>(0xF0 | point >> 18);
    tail(12), tail(6), tail(0);
  }
}

}  // namespace ckpt
