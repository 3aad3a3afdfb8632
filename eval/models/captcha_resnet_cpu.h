#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "models/winograd.h"

namespace ckpt::eval {

/// The captcha ResNet on a CPU: batch normalisation folded into the convolutions (in float64), pixels before channels
/// in memory, the convolutions of stride 1 by Winograd (8 of 10 multiplications), the others by ATen.
///
///     const CaptchaResnetCpu network(std::move(tensors));
///     const at::Tensor logits = network.logits(pictures);   // (N, 144)
///
/// Best with one caller a core, each with at::set_num_threads(1) and batches of 20 to 50.
class CaptchaResnetCpu {
 public:
  /// `tensors` by their names in the state dict, float32, of the shapes that the network has. What is made of them
  /// takes 160 MB, so each is let go of as soon as it is folded.
  explicit CaptchaResnetCpu(std::map<std::string, at::Tensor> tensors);

  /// `inputs` are (N, 3, 56, 24), float32, contiguous or channels_last. Thread-safe.
  [[nodiscard]] at::Tensor logits(const at::Tensor& inputs) const;

 private:
  struct Direct {
    at::Tensor weight, bias;
    std::int64_t stride;

    [[nodiscard]] at::Tensor run(const at::Tensor& x) const;
  };
  struct Narrowing {  // a block of stride 2 begins with these
    Direct conv1, identity;
  };
  struct Block {
    std::variant<WinogradConvolution, Narrowing> conv1;
    WinogradConvolution conv2;
  };

  Direct conv1_;
  std::vector<Block> blocks_;
  at::Tensor fc_weight_, fc_bias_;
};

}  // namespace ckpt::eval
