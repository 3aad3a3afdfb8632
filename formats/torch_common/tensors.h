#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt::torch {

/// Fills checkpoint.tensors: one for each object of the graph that is a call which rebuilds a tensor (torch/_utils.py,
/// torch/_tensor.py, and the calls of torch 0.2 to 0.4). Storages must have been collected.
/// Throws Error: corrupt (a tensor that does not fit its storage, arguments of the wrong kind), limit_exceeded.
void decode_tensors(Checkpoint& checkpoint);

}  // namespace ckpt::torch
