#pragma once

#include "ckpt/checkpoint.h"
#include "format.h"
#include "torchscript/details.h"

namespace ckpt::torchscript {

/// Reads every pickle of the archive into the checkpoint, and makes a root of them by which tensors are found: the
/// module's attributes by their names, and what code calls CONSTANTS.c0, CONSTANTS.c1 … Storages are named by their
/// members: "data/0". Throws Error: corrupt, truncated, unsupported, limit_exceeded.
void read_pickles(Checkpoint& checkpoint, ScriptDetails& details, const ReadContext& context);

/// What code names is known where the archive has it: libtorch's loader looks for a class of `__torch__` in the code,
/// and nowhere else.
void judge_script_globals(Checkpoint& checkpoint);

/// A dict whose keys are new strings.
ValueId make_dict(ValueGraph& values, const std::vector<std::pair<std::string, ValueId>>& entries);

}  // namespace ckpt::torchscript
