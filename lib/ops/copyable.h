#pragma once

#include <string_view>

#include "ckpt/quantizer.h"

namespace ckpt {

/// A tensor of a checkpoint, to which `tensors` belong.
struct TensorOf {
  const Checkpoint& checkpoint;
  const TensorsByValue& tensors;
  const Tensor& tensor;
};

/// Why torch.Tensor.copy_() does not copy `from` into `into`, a tensor of the same shape, in PyTorch's words (up to
/// where it names types); empty where it does. As PyTorch 2.11 has it (aten/src/ATen/native/Copy.cpp).
std::string_view why_not_copied(const TensorOf& from, const TensorOf& into);

}  // namespace ckpt
