#pragma once

#include <vector>

#include "ckpt/tensor.h"

namespace ckpt {

/// Calls `use` with each tensor, and with those that it is made of, which are made of no others.
template <class Use>
void each_tensor(std::vector<Tensor>& tensors, Use&& use) {
  for (Tensor& tensor : tensors) {
    use(tensor);
    for (Tensor::Part& part : tensor.parts) use(part.tensor);
  }
}

}  // namespace ckpt
