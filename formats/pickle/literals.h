#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The spellings of text opcodes (protocol 0) and of integers of any size.
namespace ckpt::pickle {

/// Inside of the quotes of Python 2's repr of a str: backslash escapes resolved, as codecs.escape_decode does.
/// None where the escape is broken.
std::optional<std::string> unescape_string(std::string_view escaped);

/// Python's raw-unicode-escape to UTF-8 (lone surrogates allowed); none where an escape is broken.
std::optional<std::string> unescape_unicode(std::string_view escaped);
std::string escape_unicode(std::string_view utf8);

/// Latin-1 bytes as UTF-8.
std::string latin1_to_utf8(std::string_view bytes);

/// Two's complement, little-endian, as LONG1 holds integers; minimal.
std::string integer_bytes(std::int64_t value);
/// The value, where it fits 64 bits.
std::optional<std::int64_t> small_integer(std::string_view twos_complement);
/// What C's strtol makes of a number with a leading zero, in octal; none where it is none or past 64 bits.
std::optional<std::int64_t> octal_integer(std::string_view digits);
/// A decimal number of at most limits::integer_digits digits, with an optional sign; none where it is no number.
/// Throws Error (limit_exceeded).
std::optional<std::string> decimal_to_bytes(std::string_view decimal);
/// Throws Error (limit_exceeded).
std::string bytes_to_decimal(std::string_view twos_complement);

}  // namespace ckpt::pickle
