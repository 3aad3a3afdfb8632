#pragma once

#include "ckpt/checkpoint.h"
#include "torchscript/code.h"

namespace ckpt::torchscript {

/// What the module's state_dict() would give: its parameters, its buffers, then those of each of its modules, in the
/// order in which the object has them.
/// Throws Error: corrupt (a module within itself), limit_exceeded (names past ckpt/limits.h).
StateEntries walk_state(const Checkpoint& checkpoint, ValueId object, const ScriptClasses& classes);

}  // namespace ckpt::torchscript
