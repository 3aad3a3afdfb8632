#pragma once

#include "ckpt/diff.h"

namespace ckpt {

/// Adds to `found.other` the files of code (FormatDetails::code()) that differ, where both have any. Throws Error: what
/// reading throws.
void compare_code(const Checkpoint& a, const Checkpoint& b, CheckpointDiff& found);

}  // namespace ckpt
