#pragma once

#include <span>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Takes away what the root no longer reaches: values, tensors, storages, globals, effects that an edit has emptied,
/// and values made and dropped by the program that touch nothing of what is left. What stays is made in the order in
/// which Python would make it.
Checkpoint prune(Checkpoint checkpoint);

/// Marks what `root` leads to, and what those of `discarded` do that may have changed some of it (DroppedCalls), which
/// it returns.
std::vector<ValueId> mark_held(const ValueGraph& values, ValueId root, std::span<const ValueId> discarded,
                               std::vector<bool>& held);

/// Marks, by id, the values that `root` leads to, itself among them; from those that are marked it goes no further.
void mark_reached(const ValueGraph& values, ValueId root, std::vector<bool>& reached);

}  // namespace ckpt
