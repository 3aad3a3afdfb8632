#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/linear.h>

#include <string>
#include <vector>

namespace mnist {

/// layer_1 … layer_5: 784-512-256-128-64-10, ReLU between. What `ckpt eval` knows as fnn.
class Fnn final : public torch::nn::Module {
 public:
  Fnn() {
    constexpr std::int64_t sizes[] = {784, 512, 256, 128, 64, 10};
    for (std::size_t i = 1; i < std::size(sizes); ++i)
      layers_.push_back(register_module("layer_" + std::to_string(i), torch::nn::Linear(sizes[i - 1], sizes[i])));
  }

  at::Tensor forward(at::Tensor x) {
    x = x.view({-1, 784});
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) x = layers_[i]->forward(x).relu();
    return layers_.back()->forward(x);
  }

 private:
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace mnist
