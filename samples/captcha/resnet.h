#pragma once

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

namespace captcha {

constexpr std::int64_t positions = 4, characters = 36;

/// A ResNet-18 without max-pool, for four characters: what `ckpt eval` knows as captcha-resnet. Takes (N, 3, W, H) in
/// [0, 1] and gives (N, 144): 4 positions of 36 characters, before any softmax.
class CaptchaResNet final : public torch::nn::Module {
 public:
  CaptchaResNet();
  at::Tensor forward(const at::Tensor& pictures);

 private:
  torch::nn::Sequential conv1, layer1, layer2, layer3, layer4;
  torch::nn::Linear fc_model;
};

}  // namespace captcha
