#pragma once

#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

namespace ckpt {

/// One state dict of several: all their entries, in order, `_metadata` joined. Of each checkpoint the state dict that
/// "auto" (ckpt/ops.h) finds; whatever else it holds is left behind. Tensors stay what they are, and share what they
/// shared; no bytes are read but what compressed files have behind their tensors. Texts beside the tensors are joined;
/// where two differ the first stays, and `warnings` of the result say so. One of a format without pickles may hold
/// texts alone, as a shard does. Throws Error: invalid_argument (a key in two of them, naming both files; no state
/// dict, or several), and what reading throws.
CKPT_API Checkpoint merge(std::vector<Checkpoint> checkpoints);

}  // namespace ckpt
