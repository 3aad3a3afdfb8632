#pragma once

#include "ckpt/checkpoint.h"
#include "format.h"

namespace ckpt::torch {

/// Fills checkpoint.tensors: one for each object of the graph that is a call which rebuilds a tensor (torch/_utils.py,
/// torch/_tensor.py, and the calls of torch 0.2 to 0.4). Storages must have been collected.
/// Throws Error: corrupt (a tensor that does not fit its storage, arguments of the wrong kind), limit_exceeded; where
/// `doubts` are given, they take the object, which then is a tensor of which nothing is known.
void decode_tensors(Checkpoint& checkpoint, Doubts* doubts = nullptr);

}  // namespace ckpt::torch
