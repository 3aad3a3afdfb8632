#include "bridge/torch_errors.h"
#include "ckpt/torch.h"

namespace ckpt::eval {

at::Tensor widened(const at::Tensor& tensor) {
  return with_torch("converting to float32", [&] {
    if (tensor.is_complex()) throw Error(ErrorCode::unsupported, "its values are complex").expected("real numbers");
    return tensor.is_quantized() ? tensor.dequantize() : tensor.to(at::kFloat);
  });
}

}  // namespace ckpt::eval
