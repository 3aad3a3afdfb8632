#include "models/captcha_resnet_aten.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>

#include "models/precision.h"

namespace ckpt::eval {
namespace {

using Convolution = CaptchaResNetWeights::Convolution;

class AtenNetwork final : public Network {
 public:
  AtenNetwork(const CaptchaResNetWeights& weights, const at::TensorOptions& options) : weights_(weights) {
    const auto place = [&](at::Tensor& tensor) { tensor = tensor.to(options); };
    const auto place_convolution = [&](Convolution& convolution) {
      convolution.weight = convolution.weight.to(options).contiguous(at::MemoryFormat::ChannelsLast);
      place(convolution.bias);
    };
    place_convolution(weights_.stem);
    for (auto& block : weights_.blocks) {
      place_convolution(block.first);
      place_convolution(block.second);
      if (block.identity) place_convolution(*block.identity);
    }
    place(weights_.fc_weight);
    place(weights_.fc_bias);
  }

  [[nodiscard]] at::Tensor logits(const at::Tensor& inputs) const override {
    at::Tensor x = inputs.to(weights_.fc_weight.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast);
    x = convolve(x, weights_.stem).relu_();
    for (const auto& block : weights_.blocks) {
      const at::Tensor y = convolve(convolve(x, block.first).relu_(), block.second);
      x = y.add_(block.identity ? convolve(x, *block.identity) : x).relu_();
    }
    return at::linear(x.mean({2, 3}), weights_.fc_weight, weights_.fc_bias).to(at::kFloat);
  }

 private:
  static at::Tensor convolve(const at::Tensor& x, const Convolution& convolution) {
    const std::int64_t padding = convolution.weight.size(2) / 2;
    return at::conv2d(x, convolution.weight, convolution.bias, {convolution.stride, convolution.stride},
                      at::IntArrayRef{padding, padding});
  }

  CaptchaResNetWeights weights_;
};

}  // namespace

std::unique_ptr<Network> captcha_resnet_aten(const CaptchaResNetWeights& weights, at::Device device,
                                             Precision precision) {
  return std::make_unique<AtenNetwork>(weights, compute_options(device, precision));
}

}  // namespace ckpt::eval
