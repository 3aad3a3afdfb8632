#pragma once

#include <cstdint>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/storage.h"
#include "safetensors/plan.h"

namespace ckpt::safetensors {

/// Appends the tensors' elements one behind the other, and returns the CRC-32 of each. They are written by name and lie
/// as they were saved: of what is inflated or computed 16 MiB are read at a time, in the order of the file, since going
/// back for each tensor would inflate a few MiB each time. Throws Error, naming the tensor: what reading and the sink
/// throw.
std::vector<std::uint32_t> copy_tensors(const std::vector<OutTensor>& tensors, const std::vector<Storage>& storages,
                                        ByteSink& sink);

}  // namespace ckpt::safetensors
