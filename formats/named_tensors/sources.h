#pragma once

#include <span>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/checkpoint.h"

namespace ckpt::named_tensors {

/// Tensors of a checkpoint as the tensors of another to be; those that share a storage go on to do so. Throws Error
/// (unsupported), naming the tensor: sparse, nested, quantised, without elements.
std::vector<TensorSource> tensor_sources(const Checkpoint& checkpoint, std::span<const NamedTensor> tensors);

}  // namespace ckpt::named_tensors
