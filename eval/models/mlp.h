#pragma once

#include <string>
#include <vector>

#include "ckpt/check.h"

namespace ckpt::eval {

/// The layers of an mlp, "stem 20 to 20, body 20 to 20", where nothing but the file's order tells which comes first;
/// else empty. `tensors`: the mlp's own.
std::string uncertain_order(const std::vector<ModelTensor>& tensors);

/// Of an mlp that nobody named: throws Error (unsupported) where some of its layers have a bias and others none, which
/// is what a state dict looks like that has lost one. `tensors`: the mlp's own.
void check_biases(const std::vector<ModelTensor>& tensors);

}  // namespace ckpt::eval
