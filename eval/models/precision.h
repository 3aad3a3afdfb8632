#pragma once

#include <ATen/core/Tensor.h>

#include "models/model.h"

namespace ckpt::eval {

/// Where weights go and what they become there. Precision is a GPU's: everywhere else it is float32.
at::TensorOptions compute_options(at::Device device, Precision precision);

}  // namespace ckpt::eval
