#pragma once

#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Takes away what the root no longer reaches: values, tensors, storages, globals, effects that an edit has emptied,
/// and values made and dropped by the program that touch nothing of what is left. What stays is made in the order in
/// which Python would make it.
Checkpoint prune(Checkpoint checkpoint);

/// Marks, by id, the values that `root` leads to, itself among them; from those that are marked it goes no further.
void mark_reached(const ValueGraph& values, ValueId root, std::vector<bool>& reached);

}  // namespace ckpt
