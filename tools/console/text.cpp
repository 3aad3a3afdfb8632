#include "text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "ckpt/hidden.h"
#include "ckpt/utf8.h"

namespace ckpt::tools {
namespace {

struct Range {
  char32_t first, last;
};

constexpr std::array<Range, 10> wide{{
    {0x1100, 0x115F},
    {0x2E80, 0x303E},
    {0x3041, 0xA4CF},
    {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},
    {0xFFE0, 0xFFE6},
    {0x1F300, 0x1FAFF},
    {0x20000, 0x3FFFD},
}};

bool is_wide(char32_t c) {
  return std::any_of(wide.begin(), wide.end(), [c](const Range& r) { return r.first <= c && c <= r.last; });
}

std::string escaped(const char* format, unsigned value) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

std::string escaped_control(char32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  return escaped("\\x%02x", static_cast<unsigned>(c));
}

std::string escaped_byte(char byte) { return escaped("\\x%02x", static_cast<unsigned char>(byte)); }

// Levenshtein's distance, with a swap of neighbours counted once.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

// Nothing but ASCII that shows as itself, as nearly every name is.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

std::string printable(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (!c.valid) {
      out += escaped_byte(text[at]);
    } else if (c.value < 0x20 || c.value == 0x7F) {
      out += escaped_control(c.value);
    } else if (c.value > 0x7F && is_hidden(c.value)) {
      out += escaped(c.value > 0xFFFF ? "\\U%08x" : "\\u%04x", static_cast<unsigned>(c.value));
    } else {
      out += text.substr(at, c.size);
    }
    at += c.size;
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    if (c.valid) {
      out += text.substr(at, c.size);
    } else {
      out += escaped_byte(text[at]);
    }
    at += c.size;
  }
  return out;
}

std::string visible_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const CodePoint c = decode_utf8(json, at);
    if (c.value < 0x7F || !is_hidden(c.value)) {
      out += json.substr(at, c.size);
    } else if (c.value > 0xFFFF) {
      const unsigned rest = static_cast<unsigned>(c.value) - 0x10000;
      out += escaped("\\u%04x", 0xD800 + (rest >> 10)) + escaped("\\u%04x", 0xDC00 + (rest & 0x3FF));
    } else {
      out += escaped("\\u%04x", static_cast<unsigned>(c.value));
    }
    at += c.size;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  if (is_plain(text)) return text.size();
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    const bool combining = c.value >= 0x300 && c.value <= 0x36F;
    width += combining ? 0 : c.value > 0x10FF && is_wide(c.value) ? 2 : 1;
    at += c.size;
  }
  return width;
}

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > 64) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const bool begun = word.size() >= 3 && candidate.substr(0, word.size()) == word;
    // As far apart at least as their lengths are: a name may have megabytes.
    const std::size_t least = std::max(word.size(), candidate.size()) - std::min(word.size(), candidate.size());
    if (!begun && least >= best_distance) continue;
    const std::size_t d = begun ? 1 : distance(word, candidate);
    if (d < best_distance) best = candidate, best_distance = d;
  }
  return best;
}

}  // namespace ckpt::tools
