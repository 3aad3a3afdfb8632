#pragma once

#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/ops.h"

/// --rename of commands that write.
namespace ckpt::tools {

/// "REGEX=REPL": the first '=' parts them that does not follow a backslash. Throws Error (invalid_argument).
std::vector<RenameRule> rename_rules(const std::vector<std::string>& texts);

/// Adds to `done` what was renamed, and warns of rules that match no key.
Checkpoint rename_keys(Checkpoint checkpoint, const std::vector<RenameRule>& rules, std::vector<std::string>& done);

}  // namespace ckpt::tools
