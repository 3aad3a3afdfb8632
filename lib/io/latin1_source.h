#pragma once

#include <cstdint>
#include <optional>

#include "ckpt/byte_source.h"

namespace ckpt {

/// How many characters the UTF-8 text in `utf8` has, all of it read once; none where it is no UTF-8 or a character is
/// past U+00FF. Throws Error: what reading throws.
std::optional<std::uint64_t> count_latin1(const ByteSourcePtr& utf8);

/// The bytes that the text says in Latin-1, as pickles of protocols 0 to 2 hold bytes; null where count_latin1() counts
/// none. Going back reads from the beginning. Throws Error: what reading throws.
ByteSourcePtr latin1_source(ByteSourcePtr utf8);

}  // namespace ckpt
