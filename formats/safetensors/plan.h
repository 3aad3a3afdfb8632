#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ops/dense_tensor.h"
#include "safetensors/dtypes.h"
#include "safetensors/views.h"

/// What a checkpoint is as a safetensors file: which tensors are written, in which order, and which are views of those.
namespace ckpt::safetensors {

struct OutTensor {
  DenseTensor tensor;
  const ElementType* type = nullptr;
};

struct Plan {
  std::vector<OutTensor> written;  ///< as safetensors orders them: by dtype, then by name
  std::vector<View> views;         ///< of those
  /// The first two tensors that share a storage and are written one by one.
  std::pair<std::string, std::string> apart;
};

/// Of all tensors of the checkpoint under each of its names. Throws Error, naming the tensor: unsupported (what
/// safetensors has not), invalid_argument (two of one name), limit_exceeded.
Plan plan_of(const Checkpoint& checkpoint);

}  // namespace ckpt::safetensors
