#pragma once

#include <string>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt::named_tensors {

/// tensor_names(), for a format that holds tensors by nothing else. Throws Error: invalid_argument (two tensors of one
/// name: none is made up for the second), limit_exceeded.
std::vector<NamedTensor> names_of(const Checkpoint& checkpoint);

/// What to do about a tensor of that name that a format cannot say, as options of `ckpt convert`.
std::string drop_hint(const Checkpoint& checkpoint, const std::string& name);

}  // namespace ckpt::named_tensors
