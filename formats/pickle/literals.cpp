#include "pickle/literals.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/utf8.h"
#include "model/big_integer.h"

namespace ckpt::pickle {
namespace {

std::optional<std::uint32_t> parse_digits(std::string_view text, std::size_t at, std::size_t count, int base) {
  if (at + count > text.size()) return std::nullopt;
  std::uint32_t value = 0;
  const char* const end = text.data() + at + count;
  const auto [stop, error] = std::from_chars(text.data() + at, end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

constexpr std::string_view hex_digits = "0123456789abcdef";

bool is_octal(char c) { return c >= '0' && c <= '7'; }

constexpr std::string_view simple_escapes = "\\'\"abfnrtv";
constexpr std::string_view simple_values = "\\'\"\a\b\f\n\r\t\v";

}  // namespace

std::optional<std::string> unescape_string(std::string_view escaped) {
  std::string out;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] != '\\') {
      out.push_back(escaped[i]);
      continue;
    }
    if (++i == escaped.size()) return std::nullopt;
    if (const auto known = simple_escapes.find(escaped[i]); known != std::string_view::npos) {
      out.push_back(simple_values[known]);
    } else if (escaped[i] == 'x') {
      const auto value = parse_digits(escaped, i + 1, 2, 16);
      if (!value) return std::nullopt;
      out.push_back(static_cast<char>(*value));
      i += 2;
    } else if (is_octal(escaped[i])) {
      std::uint32_t value = 0;
      std::size_t digits = 0;
      for (; digits < 3 && i + digits < escaped.size() && is_octal(escaped[i + digits]); ++digits)
        value = value * 8 + static_cast<std::uint32_t>(escaped[i + digits] - '0');
      out.push_back(static_cast<char>(value));
      i += digits - 1;
    } else {
      out.push_back('\\');
      out.push_back(escaped[i]);
    }
  }
  return out;
}

std::optional<std::string> unescape_unicode(std::string_view escaped) {
  std::string out;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const bool short_escape = escaped.substr(i).starts_with("\\u");
    if (!short_escape && !escaped.substr(i).starts_with("\\U")) {
      // An escaped backslash does not begin an escape.
      append_utf8(out, static_cast<unsigned char>(escaped[i]));
      if (escaped[i] == '\\' && i + 1 < escaped.size() && escaped[i + 1] == '\\')
        append_utf8(out, static_cast<unsigned char>(escaped[++i]));
      continue;
    }
    const std::size_t digits = short_escape ? 4 : 8;
    const auto code = parse_digits(escaped, i + 2, digits, 16);
    if (!code || *code > 0x10FFFF) return std::nullopt;
    append_utf8(out, *code);
    i += 1 + digits;
  }
  return out;
}

std::string escape_unicode(std::string_view utf8) {
  std::string out;
  for (std::size_t i = 0; i < utf8.size();) {
    const CodePoint point = decode_utf8(utf8, i, Surrogates::allowed);
    const char32_t code = point.value;
    i += point.size;
    const bool plain = code < 0x100 && code != '\\' && code != 0 && code != '\n' && code != '\r' && code != 0x1A;
    if (plain) {
      out.push_back(static_cast<char>(code));
      continue;
    }
    const int digits = code < 0x10000 ? 4 : 8;
    out += digits == 4 ? "\\u" : "\\U";
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out.push_back(hex_digits[(code >> shift) & 15]);
  }
  return out;
}

std::string latin1_to_utf8(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) append_utf8(out, static_cast<unsigned char>(c));
  return out;
}

std::string integer_bytes(std::int64_t value) {
  std::string out;
  if (value == 0) return out;
  for (int shift = 0; shift < 64; shift += 8) {
    out.push_back(static_cast<char>(value >> shift));
    const std::int64_t rest = shift == 56 ? (value < 0 ? -1 : 0) : value >> (shift + 8);
    const bool negative = (out.back() & 0x80) != 0;
    if ((rest == 0 && !negative) || (rest == -1 && negative)) break;
  }
  return out;
}

std::optional<std::int64_t> small_integer(std::string_view twos_complement) {
  const bool negative = !twos_complement.empty() && (twos_complement.back() & 0x80) != 0;
  const char fill = negative ? '\xff' : '\0';
  while (twos_complement.size() > 8 && twos_complement.back() == fill &&
         ((twos_complement[twos_complement.size() - 2] & 0x80) != 0) == negative)
    twos_complement.remove_suffix(1);
  if (twos_complement.size() > 8) return std::nullopt;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < twos_complement.size(); ++i) {
    value &= ~(std::uint64_t{0xFF} << 8 * i);
    value |= std::uint64_t{static_cast<unsigned char>(twos_complement[i])} << 8 * i;
  }
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> octal_integer(std::string_view digits) {
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 8);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<std::string> decimal_to_bytes(std::string_view decimal) {
  const bool negative = decimal.starts_with('-');
  if (negative || decimal.starts_with('+')) decimal.remove_prefix(1);
  if (decimal.empty() || decimal.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  if (decimal.size() > limits::integer_digits)
    throw Error(ErrorCode::limit_exceeded, "an integer of " + std::to_string(decimal.size()) + " digits")
        .expected("at most " + std::to_string(limits::integer_digits));
  std::vector<std::uint32_t> words;   // the lowest first
  constexpr std::size_t at_once = 9;  // digits that fit into 32 bits
  for (std::size_t at = 0, count = (decimal.size() - 1) % at_once + 1; at < decimal.size();
       at += count, count = at_once) {
    std::uint64_t carry = 0, scale = 1;
    for (const char digit : decimal.substr(at, count)) {
      carry = carry * 10 + static_cast<unsigned>(digit - '0');
      scale *= 10;
    }
    for (std::uint32_t& word : words) {
      carry += word * scale;
      word = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words.push_back(static_cast<std::uint32_t>(carry));
  }
  std::string bytes;  // magnitude, little-endian
  for (const std::uint32_t word : words)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(word >> shift));
  while (!bytes.empty() && bytes.back() == '\0') bytes.pop_back();
  bytes.push_back('\0');  // room for the sign
  if (negative) {
    unsigned carry = 1;
    for (char& byte : bytes) {
      carry += static_cast<unsigned char>(~byte);
      byte = static_cast<char>(carry);
      carry >>= 8;
    }
  }
  return bytes;
}

std::string bytes_to_decimal(std::string_view twos_complement) {
  auto text = decimal_text(twos_complement);
  if (text) return std::move(*text);
  throw Error(ErrorCode::limit_exceeded,
              "an integer of more than " + std::to_string(limits::integer_digits) + " digits in decimal")
      .hint("write with --protocol 2");
}

}  // namespace ckpt::pickle
