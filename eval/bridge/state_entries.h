#pragma once

#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/quantizer.h"

namespace ckpt::eval {

/// A tensor of a state dict; both belong to the checkpoint.
struct StateEntry {
  std::string_view name;
  const Tensor* tensor;
};

/// Of `tensors`, those of the state dict at `root` (find_state_dict() in ckpt/ops.h), in its order; not None, nor extra
/// state. Throws Error (invalid_argument) for the root.
std::vector<StateEntry> state_entries(const Checkpoint& checkpoint, const TensorsByValue& tensors,
                                      std::string_view root);

}  // namespace ckpt::eval
