#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ckpt/error.h"
#include "ckpt/value.h"

namespace ckpt {

/// The shortest decimal that reads as the same float, as Python's repr spells it ("1.0", "1e+16", "nan").
std::string float_repr(double value);
std::string float32_repr(float value);

/// Python's repr of a string, quotes included: `ascii` as of bytes and Python 2's str, which show only ASCII as it is.
std::string quote_string(std::string_view text, bool ascii = true);

/// Python's repr of None, a bool, a number (of 512 bits at most), a string, bytes, or the name that Python 3 has for a
/// global or for a class that has its source beside it; "<object>" for other kinds. Of a longer text its first
/// `longest` bytes.
std::string atom_repr(const ValueGraph& values, ValueId id, std::size_t longest = SIZE_MAX);

/// What Python's str() gives for a value that serves as a key: strings as they are, numbers, tuples as their repr, and
/// of bytes and tuples the first 4,096 bytes or so. A value that only running code could print gives "<object>".
std::string python_str(const ValueGraph& values, ValueId id);

/// What a format of names alone says where `text`, which python_str() gave for a key that is no string, has such an
/// "<object>" in it; nothing where it has none. `which`: "a key".
std::optional<Error> unprintable_key(std::string_view text, const std::string& which);

}  // namespace ckpt
