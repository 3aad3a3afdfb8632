#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gguf/fields.h"

namespace ckpt::gguf {

/// The types of values in a header (gguf_type in gguf.h).
enum class ValueType : std::uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  string,
  array,
  uint64,
  int64,
  float64,
};

/// The value that comes next, of this type: a text as it is, a number as it is, an array as a list in JSON; none of an
/// array that would take more than `most` bytes so, which is skipped.
/// Throws Error: corrupt (a type that there is not), limit_exceeded, truncated.
std::optional<std::string> read_value(Fields& fields, ValueType type, std::uint64_t most);

ValueType read_type(Fields& fields);

}  // namespace ckpt::gguf
