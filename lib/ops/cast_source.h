#pragma once

#include "ckpt/byte_source.h"
#include "ckpt/storage.h"

namespace ckpt {

/// The elements of a storage that has bytes, all of dtype `from`, as `to` and little-endian: cast as they are read
/// (cast_elements()). Trailing bytes that make no whole element are left out. 256 KiB are held from the first read to
/// the last byte. `negated`: with the other sign; `to` is a floating dtype. The storage's recorded CRC-32 is compared
/// by the read that reaches the end, where all has been read.
ByteSourcePtr cast_source(const Storage& storage, DType from, DType to, bool negated = false);

}  // namespace ckpt
