#pragma once

#include <ATen/core/Tensor.h>

#include "models/winograd_transforms.h"

namespace ckpt::eval {

/// A convolution 3×3 of stride 1 and padding 1, with the ReLU behind it and what a residual network adds before that,
/// by Winograd's F(4×4, 3×3): 36 multiplications where a direct convolution takes 144.
///
///     const WinogradConvolution convolution(weight, bias);
///     const at::Tensor y = convolution.relu(x);                // max(0, x * weight + bias)
///     const at::Tensor z = convolution.relu(y, std::move(x));  // max(0, y * weight + bias + x), where x was
///
/// Rounding: outputs of about 1 are up to 1e-5 from the exact ones, some 5 times as far as a direct convolution's. The
/// points are 0, ±√½, ±√2 and infinity (winograd_transforms.inc). Memory: the weights become 4 times as large. `relu`
/// is thread-safe.
class WinogradConvolution {
 public:
  /// `weight` is (outputs, inputs, 3, 3) and `bias` (outputs), of a floating type; the numbers of channels are
  /// multiples of 8. What is made of the weights is computed in float64.
  WinogradConvolution(const at::Tensor& weight, const at::Tensor& bias,
                      const WinogradTransforms& transforms = winograd_transforms().front());

  /// `x` is (N, inputs, H, W), `added`, where there is one, and the result are (N, outputs, H, W): float32,
  /// channels_last. The result takes the memory of `added`.
  [[nodiscard]] at::Tensor relu(const at::Tensor& x, at::Tensor&& added = {}) const;

 private:
  WinogradTransforms transforms_;
  at::Tensor weight_;  // (36, inputs, outputs)
  at::Tensor bias_;
};

}  // namespace ckpt::eval
