#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt {

/// The state dict in place of a module that its file told of (FormatDetails::state_entries), as torch.save would have
/// been given it; with it go the file's details.
Checkpoint unpack_whole_module(Checkpoint checkpoint);

/// A tensor of such a module in place of it, in the same way; no tensor_names() of the checkpoint's is good after it.
/// Throws Error: unsupported (what Python has no such pickle of), what state_entries throws.
Checkpoint take_tensor(Checkpoint checkpoint, const NamedTensor& named);

/// Whether it is such a module, and its state dict is empty (a frozen one's) or cannot be made. Throws
/// Error: io, out_of_memory.
bool has_no_state(const Checkpoint& checkpoint);

/// Throws Error (unsupported) where the checkpoint is such a module: it is taken whole or not at all.
void refuse_part(const Checkpoint& checkpoint);

}  // namespace ckpt
