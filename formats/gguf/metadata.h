#pragma once

#include <cstdint>
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

/// The value that comes next, its type in front of it: a text as it is, a number as it is, an array as a list in JSON,
/// of which the first elements are shown, and how many more there are in place of its last. Vocabularies have a hundred
/// thousand. Throws Error: corrupt (a type that there is not), limit_exceeded, truncated.
std::string read_value(Fields& fields, ValueType type);

ValueType read_type(Fields& fields);

}  // namespace ckpt::gguf
