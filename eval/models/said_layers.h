#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt::eval {

/// What a whole module (`torch.save(model)`) says runs between its Linear layers, by the classes of torch.nn that its
/// file names: an activation as Options::activation has it, or none where no class is one (a forward() may call
/// anything). `own`: that which the architecture runs whatever is said; empty for one that takes what is said. Throws
/// Error (unsupported) where the classes say something that the architecture does not run, or several activations.
std::optional<std::string> said_activation(const std::vector<GlobalUse>& globals, std::string_view own);

}  // namespace ckpt::eval
