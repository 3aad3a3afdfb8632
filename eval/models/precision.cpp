#include "models/precision.h"

namespace ckpt::eval {

at::TensorOptions compute_options(at::Device device, Precision precision) {
  const bool bf16 = device.is_cuda() && precision == Precision::bf16;
  return at::TensorOptions().device(device).dtype(bf16 ? at::kBFloat16 : at::kFloat);
}

}  // namespace ckpt::eval
