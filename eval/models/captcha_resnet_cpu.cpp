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

/// The convolution NAME.0 and the batch normalisation NAME.1 behind it as one convolution with a bias.
Folded fold(const Tensors& tensors, const std::string& name) {
  const auto float64 = [&](const char* suffix) { return tensors.at(name + suffix).to(at::kDouble); };
  constexpr double epsilon = 1e-5;  // torch.nn.BatchNorm2d's
  const at::Tensor scale = float64(".1.weight") / at::sqrt(float64(".1.running_var") + at::Scalar(epsilon));
  return {float64(".0.weight") * scale.view({-1, 1, 1, 1}), float64(".1.bias") - float64(".1.running_mean") * scale};
}

WinogradConvolution winograd(const Tensors& tensors, const std::string& name) {
  const Folded folded = fold(tensors, name);
  return {folded.weight, folded.bias};
}

}  // namespace

at::Tensor CaptchaResnetCpu::Direct::run(const at::Tensor& x) const {
  return at::conv2d(x, weight, bias, stride, weight.size(2) / 2);
}

CaptchaResnetCpu::CaptchaResnetCpu(const Tensors& tensors)
    : fc_weight_(tensors.at("fc_model.weight")), fc_bias_(tensors.at("fc_model.bias")) {
  const c10::InferenceMode inference;
  const auto direct = [&](const std::string& name, std::int64_t stride) {
    const Folded folded = fold(tensors, name);
    return Direct{folded.weight.to(at::kFloat).contiguous(at::MemoryFormat::ChannelsLast), folded.bias.to(at::kFloat),
                  stride};
  };
  conv1_ = direct("conv1", 1);
  for (const std::string layer : {"layer1", "layer2", "layer3", "layer4"}) {
    if (layer == "layer1")
      blocks_.push_back({winograd(tensors, layer + ".0.conv1"), winograd(tensors, layer + ".0.conv2")});
    else
      blocks_.push_back({Narrowing{direct(layer + ".0.conv1", 2), direct(layer + ".0.identity", 2)},
                         winograd(tensors, layer + ".0.conv2")});
    blocks_.push_back({winograd(tensors, layer + ".1.conv1"), winograd(tensors, layer + ".1.conv2")});
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
