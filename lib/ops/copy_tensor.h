#pragma once

#include <cstdint>

#include "ckpt/byte_sink.h"
#include "ckpt/export.h"
#include "ckpt/storage.h"
#include "ckpt/tensor.h"

namespace ckpt {

/// Appends the tensor's elements as TensorStream gives them (ops/tensor_bytes.h) and returns their CRC-32. Throws
/// Error: what that and the sink throw.
CKPT_API std::uint32_t copy_tensor(const Storage& storage, const TensorInfo& info, ByteSink& sink);

}  // namespace ckpt
