#pragma once

#include "ckpt/byte_source.h"
#include "ckpt/storage.h"
#include "gguf/types.h"

namespace ckpt::gguf {

/// Whether dequantized() knows the blocks.
bool can_dequantize(const TensorType& type);

/// The float32 numbers, little-endian, that `blocks` stand for: computed as they are read, a piece at a time. `order`:
/// of the scales in the blocks. Equal to gguf.quants.dequantize() to the bit.
ByteSourcePtr dequantized(ByteSourcePtr blocks, const TensorType& type, ByteOrder order);

}  // namespace ckpt::gguf
