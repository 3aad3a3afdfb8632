#pragma once

#include <string>
#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/value.h"

namespace ckpt::pickle {

/// Whether the value is the name `module`.`name`, spelt so.
bool is_global(const ValueGraph& values, ValueId id, std::string_view module, std::string_view name);

/// The value whose text the bytes are that `id` stands for, however protocol and version of Python spell them: `id`
/// itself where it is bytes, a bytearray or Python 2's str; the text that _codecs.encode(text, 'latin1') is given.
/// no_value for anything else.
ValueId text_of_bytes(const ValueGraph& values, ValueId id);

/// Those bytes; none of bytes(), as protocol 2 has it; null for anything else. Far texts stay where they are. `name`:
/// what messages call them. Throws Error: what reading throws.
ByteSourcePtr bytes_of(const ValueGraph& values, ValueId id, const std::string& name);

}  // namespace ckpt::pickle
