#pragma once

#include "ckpt/eval.h"

namespace ckpt::eval {

/// Adds the result of the samples that follow in the same data. Counts, predictions, outputs and the data's digest add
/// up, what both warn of stays once, and of phases and memory the greater ones. Throws Error (corrupt: a digest that is
/// none).
void join(Result& whole, const Result& next);

}  // namespace ckpt::eval
