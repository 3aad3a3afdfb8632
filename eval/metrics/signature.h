#pragma once

#include "ckpt/eval.h"

namespace ckpt::eval {

/// Throws Error (limit_exceeded) where outputs cannot be counted: none of them, or more cells of confusion than
/// limits::confusion_cells, or more positions than limits::answer_positions. Every signature that comes from a file
/// goes through it before counts are made.
void check_signature(const Signature& signature);

}  // namespace ckpt::eval
