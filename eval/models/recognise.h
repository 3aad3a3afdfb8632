#pragma once

#include <string>
#include <vector>

#include "models/architecture.h"

namespace ckpt::eval {

/// The tensors of the state dict at `root` by name, shape and dtype.
std::vector<ModelTensor> listed_tensors(const Checkpoint& checkpoint, const std::string& root);

/// The command that makes the state dict one of the architecture's, or what else to do about a report that says what
/// keeps it from being that; empty where neither is known.
std::string fix_hint(const Architecture& architecture, const CheckReport& report, const std::string& file);

/// The first architecture whose keys and shapes are those of the state dict at `root`. Throws Error (unsupported) where
/// there is none, with the closest and what keeps it from being that.
const Architecture& recognise(const Checkpoint& checkpoint, const std::string& root);

}  // namespace ckpt::eval
