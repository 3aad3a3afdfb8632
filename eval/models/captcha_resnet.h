#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace ckpt::eval {

/// The captcha ResNet's weights with each batch norm folded into the convolution before it (in float64): float32,
/// contiguous, in host memory. A device's own way to compute it starts from these.
struct CaptchaResNetWeights {
  struct Convolution {
    at::Tensor weight;  ///< [out, in, k, k], k 3 with padding 1, or k 1 with none
    at::Tensor bias;    ///< [out]
    std::int64_t stride = 1;
  };
  /// relu(second(relu(first(x))) + identity(x))
  struct Block {
    Convolution first, second;
    std::optional<Convolution> identity;  ///< none: x itself
  };
  Convolution stem;  ///< a ReLU follows
  std::vector<Block> blocks;
  at::Tensor fc_weight, fc_bias;  ///< [144, 512], [144], after the mean over all pixels
};

}  // namespace ckpt::eval
