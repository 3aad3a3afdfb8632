#pragma once

#include "ckpt/byte_source.h"

namespace ckpt {

/// The bytes that the UTF-8 text in `utf8` says in Latin-1, as pickles of protocols 0 to 2 hold bytes. Reads all of it
/// once, to know how many there are; null where a character is past U+00FF. Going back reads from the beginning.
/// Throws Error: what reading throws.
ByteSourcePtr latin1_source(ByteSourcePtr utf8);

}  // namespace ckpt
