#include "models/precision.h"

#include <ATen/Context.h>

namespace ckpt::eval {

at::TensorOptions compute_options(at::Device device, Precision precision) {
  if (device.is_cuda()) {
    // By default libtorch lets cuDNN use TF32, and cuBLAS not.
    at::globalContext().setAllowTF32CuBLAS(precision == Precision::tf32);
    at::globalContext().setAllowTF32CuDNN(precision == Precision::tf32);
  }
  const bool bf16 = device.is_cuda() && precision == Precision::bf16;
  return at::TensorOptions().device(device).dtype(bf16 ? at::kBFloat16 : at::kFloat);
}

}  // namespace ckpt::eval
