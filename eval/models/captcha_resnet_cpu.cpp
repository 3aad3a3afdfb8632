#include "models/captcha_resnet_cpu.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sqrt.h>
#include <c10/core/InferenceMode.h>

namespace ckpt::eval {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

struct Folded {
  at::Tensor weight, bias;  // float64
};

/// Takes the convolution NAME.0 and the batch normalisation NAME.1 behind it as one convolution with a bias.
Folded take_folded(Tensors& tensors, const std::string& name) {
  const auto take = [&](const char* suffix) {
    at::Tensor float64 = tensors.at(name + suffix).to(at::kDouble);
    tensors.erase(name + suffix);
    return float64;
  };
  constexpr double epsilon = 1e-5;  // torch.nn.BatchNorm2d's
  const at::Tensor scale = take(".1.weight") / at::sqrt(take(".1.running_var") + at::Scalar(epsilon));
  return {take(".0.weight") * scale.view({-1, 1, 1, 1}), take(".1.bias") - take(".1.running_mean") * scale};
}

}  // namespace

at::Tensor CaptchaResnetCpu::Direct::run(const at::Tensor& x) const {
  return at::conv2d(x, weight, bias, stride, weight.size(2) / 2);
}

CaptchaResnetCpu::CaptchaResnetCpu(Tensors tensors)
    : fc_weight_(tensors.at("fc_model.weight")), fc_bias_(tensors.at("fc_model.bias")) {
  const c10::InferenceMode inference;
  const auto direct = [&](const std::string& name, std::int64_t stride) {
    const Folded folded = take_folded(tensors, name);
    const at::Tensor weight = folded.weight.to(at::kFloat).contiguous(at::MemoryFormat::ChannelsLast);
    return Direct{weight, folded.bias.to(at::kFloat), stride};
  };
  const auto winograd = [&](const std::string& name) {
    const Folded folded = take_folded(tensors, name);
    return WinogradConvolution(folded.weight, folded.bias);
  };
  conv1_ = direct("conv1", 1);
  for (const std::string layer : {"layer1", "layer2", "layer3", "layer4"}) {
    const std::string first = layer + ".0.", second = layer + ".1.";
    if (layer == "layer1")
      blocks_.push_back({winograd(first + "conv1"), winograd(first + "conv2")});
    else
      blocks_.push_back(
          {Narrowing{direct(first + "conv1", 2), direct(first + "identity", 2)}, winograd(first + "conv2")});
    blocks_.push_back({winograd(second + "conv1"), winograd(second + "conv2")});
  }
}

at::Tensor CaptchaResnetCpu::logits(const at::Tensor& inputs) const {
  const c10::InferenceMode inference;
  at::Tensor x = conv1_.run(inputs.contiguous(at::MemoryFormat::ChannelsLast)).relu_();
  for (const Block& block : blocks_) {
    if (const auto* narrowing = std::get_if<Narrowing>(&block.conv1))
      x = block.conv2.relu(narrowing->conv1.run(x).relu_(), narrowing->identity.run(x));
    else
      x = block.conv2.relu(std::get<WinogradConvolution>(block.conv1).relu(x), x);
  }
  return at::linear(x.mean({2, 3}), fc_weight_, fc_bias_);
}

}  // namespace ckpt::eval
