#pragma once

#include <unordered_map>

#include "ckpt/checkpoint.h"

namespace ckpt::torch {

/// Puts values into the places of others, wherever a value or an effect holds one of them. Those that are replaced stay
/// in the graph, held by nothing.
void replace_values(ValueGraph& values, const std::unordered_map<ValueId, ValueId>& by);

/// The same, also for the root and for what the program dropped.
void replace_values(Checkpoint& checkpoint, const std::unordered_map<ValueId, ValueId>& by);

}  // namespace ckpt::torch
