#pragma once

#include <string_view>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

namespace ckpt {

/// The tensor of that name (tensor_names()) alone, with no bytes but its own and those of attributes that it has: as
/// the whole object, or `named`, in a dict under its name, for formats that hold tensors by name. Of a TorchScript file
/// it is the tensor that Python has, detached. Throws Error: invalid_argument (no tensor has it), unsupported (a
/// sparse or meta tensor of a TorchScript file), corrupt, limit_exceeded (names, as tensor_names()).
CKPT_API Checkpoint extract(Checkpoint checkpoint, std::string_view name, bool named = false);

}  // namespace ckpt
