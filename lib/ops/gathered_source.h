#pragma once

#include "ckpt/byte_source.h"
#include "ckpt/storage.h"
#include "ckpt/tensor.h"
#include "ops/tensor_bytes.h"

namespace ckpt {

/// The elements of a tensor in the order of their indices, contiguous and little-endian, whatever its strides. Reading
/// forward is cheap, reading backward begins again. What is not contiguous is held a block at a time, from the first
/// read to the last byte (as TensorStream takes it).
/// The storage's recorded CRC-32 is compared by the read that reaches the end.
/// `info`: as it lies in the whole storage (DenseTensor::placed). Throws Error (corrupt): a geometry that leaves the
/// storage.
ByteSourcePtr gathered_source(Storage storage, const TensorInfo& info,
                              std::optional<std::uint64_t> block = std::nullopt);

}  // namespace ckpt
