#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt {

/// The state dict in place of a module that its file told of (FormatDetails::state_entries), as torch.save would have
/// been given it; with it go the file's details.
Checkpoint unpack_whole_module(Checkpoint checkpoint);

/// Throws Error (unsupported) where the checkpoint is such a module: it is taken whole or not at all.
void refuse_part(const Checkpoint& checkpoint);

}  // namespace ckpt
