#pragma once

#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt::named_tensors {

/// tensor_names(), for a format that holds tensors by nothing else. Throws Error: invalid_argument (two tensors of one
/// name: none is made up for the second), limit_exceeded.
std::vector<NamedTensor> names_of(const Checkpoint& checkpoint);

}  // namespace ckpt::named_tensors
