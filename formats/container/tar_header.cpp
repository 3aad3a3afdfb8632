#include "container/tar_header.h"

#include <algorithm>
#include <charconv>

#include "ckpt/utf8.h"
#include "io/bytes.h"

namespace ckpt::tar {
namespace {

// Fields of a header: where they begin, and how long they are (POSIX.1-1988).
struct Field {
  std::size_t offset, size;
};
constexpr Field name_field{0, 100}, size_field{124, 12}, checksum_field{148, 8}, link_field{157, 100},
    magic_field{257, 6}, prefix_field{345, 155};
constexpr std::size_t type_at = 156;

std::string_view field(const Block& bytes, Field at) { return as_text(bytes).substr(at.offset, at.size); }

std::string_view text(const Block& bytes, Field at) {
  const std::string_view all = field(bytes, at);
  return all.substr(0, std::min(all.find('\0'), all.size()));
}

bool is_name(const Block& bytes, Field at) {
  const std::string_view all = field(bytes, at), name = text(bytes, at);
  const bool padded = all.find_first_not_of('\0', name.size()) == std::string_view::npos;
  const auto steers = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  return padded && is_utf8(name) && std::none_of(name.begin(), name.end(), steers);
}

/// Octal digits among blanks, up to a NUL; with a sign, "0o" and underscores, as Python's int() takes them: what
/// another reader takes for a member must not be none here. Or GNU's base 256: a set high bit, then a number,
/// big-endian.
std::optional<std::int64_t> number(std::string_view digits) {
  const auto first = static_cast<unsigned char>(digits[0]);
  if (first == 0x80 || first == 0xFF) {
    std::int64_t value = first == 0x80 ? 0 : -1;
    for (const unsigned char c : digits.substr(1)) {
      if (value >> 55 != 0 && value >> 55 != -1) return std::nullopt;
      value = value * 256 + c;
    }
    return value;
  }
  constexpr std::string_view blanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
  digits = digits.substr(0, std::min(digits.find('\0'), digits.size()));
  digits.remove_prefix(std::min(digits.find_first_not_of(blanks), digits.size()));
  digits = digits.substr(0, digits.find_last_not_of(blanks) + 1);
  if (digits.empty()) return 0;
  const bool is_negative = digits[0] == '-';
  if (is_negative || digits[0] == '+') digits.remove_prefix(1);
  if (digits.starts_with("0o") || digits.starts_with("0O"))
    digits.remove_prefix(digits[2 % digits.size()] == '_' ? 3 : 2);
  std::string plain;
  for (std::size_t i = 0; i < digits.size(); ++i)
    if (digits[i] != '_' || i == 0 || i + 1 == digits.size() || digits[i - 1] == '_') plain += digits[i];
  std::int64_t value = 0;
  const char* const end = plain.data() + plain.size();
  const auto [stop, error] = std::from_chars(plain.data(), end, value, 8);
  if (error != std::errc{} || stop != end || plain.starts_with('-')) return std::nullopt;
  return is_negative ? -value : value;
}

/// The sum of all bytes, its own field taken for blanks. Some old programs added up signed characters.
bool checksum_is_right(const Block& bytes) {
  const auto wanted = number(field(bytes, checksum_field));
  std::int64_t plain = 8 * std::int64_t{' '}, with_sign = plain;
  for (std::size_t i = 0; i < block; ++i) {
    if (i >= checksum_field.offset && i < checksum_field.offset + checksum_field.size) continue;
    plain += std::to_integer<unsigned char>(bytes[i]);
    with_sign += static_cast<signed char>(bytes[i]);
  }
  return wanted && (*wanted == plain || *wanted == with_sign);
}

}  // namespace

bool is_zero(const Block& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::optional<Header> parse_header(const Block& bytes) {
  const auto size = number(field(bytes, size_field));
  if (!checksum_is_right(bytes)) return std::nullopt;
  Header header;
  if (size && *size >= 0) header.size = static_cast<std::uint64_t>(*size);
  header.type = static_cast<char>(bytes[type_at]);
  header.has_names = is_name(bytes, name_field) && is_name(bytes, link_field);
  const std::string_view magic = field(bytes, magic_field);
  header.name = text(bytes, name_field);
  if (header.type == '\0' && header.name.ends_with('/')) header.type = '5';  // as Unix V7 knew a folder: without bytes
  // GNU's own form ("ustar ") has other fields in the prefix's place.
  if (magic == std::string_view("ustar\0", 6) && bytes[prefix_field.offset] != std::byte{0})
    header.name = std::string(text(bytes, prefix_field)) + "/" + header.name;
  return header;
}

bool parse_pax(std::string_view records, Pax& pax) {
  while (!records.empty() && records.front() != '\0') {
    std::size_t length = 0;
    const auto [stop, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(stop - records.data());
    if (error != std::errc{} || length > records.size() || length < digits + 3 || *stop != ' ') return false;
    std::string_view record = records.substr(digits + 1, length - digits - 1);
    if (record.back() != '\n') return false;
    record.remove_suffix(1);
    records.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key == "path") pax.path = value;
    if (key.starts_with("GNU.sparse.")) pax.is_sparse = true;
    if (key != "size") continue;
    std::uint64_t size = 0;
    const auto [end, bad] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (bad != std::errc{} || end != value.data() + value.size()) return false;
    pax.size = size;
  }
  return true;
}

}  // namespace ckpt::tar
