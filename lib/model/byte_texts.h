#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/value.h"

namespace ckpt {

/// The bytes that the characters of `utf8` stand for in Latin-1; none where one is past 255.
std::optional<std::string> to_latin1(std::string_view utf8);

/// Whether a codec is Latin-1, as picklers of any version call it.
inline bool is_latin1(std::string_view codec) { return codec == "latin1" || codec == "latin-1"; }

/// Whether the value is the name `module`.`name`, spelt so.
bool is_global(const ValueGraph& values, ValueId id, std::string_view module, std::string_view name);

/// The value whose text the bytes are that `id` stands for, however protocol and version of Python spell them: `id`
/// itself where it is bytes, a bytearray or Python 2's str; the text that _codecs.encode(text, 'latin1') is given.
/// no_value for anything else.
ValueId text_of_bytes(const ValueGraph& values, ValueId id);

/// Whether the value is the call bytes(), as protocol 2 has bytes that are none.
bool is_no_bytes(const ValueGraph& values, ValueId id);

/// Those bytes, however spelt; null for anything else. Far texts stay where they are. `name`:
/// what messages call them. Throws Error: what reading throws.
ByteSourcePtr bytes_of(const ValueGraph& values, ValueId id, const std::string& name);

}  // namespace ckpt
