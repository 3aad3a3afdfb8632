#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Takes away what the root no longer reaches: values, tensors, storages, globals, effects that an edit has emptied,
/// and values made and dropped by the program that touch nothing of what is left. What stays is made in the order in
/// which Python would make it.
Checkpoint prune(Checkpoint checkpoint);

}  // namespace ckpt
