#include "models/captcha_resnet_cpu.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>

#include <optional>
#include <variant>

#include "models/winograd.h"

namespace ckpt::eval {
namespace {

using Convolution = CaptchaResNetWeights::Convolution;

WinogradConvolution winograd(const Convolution& convolution) {
  return {convolution.weight.to(at::kDouble), convolution.bias.to(at::kDouble)};
}

struct Direct {
  explicit Direct(const Convolution& convolution)
      : weight(convolution.weight.contiguous(at::MemoryFormat::ChannelsLast)),
        bias(convolution.bias),
        stride(convolution.stride) {}

  [[nodiscard]] at::Tensor run(const at::Tensor& x) const {
    return at::conv2d(x, weight, bias, stride, weight.size(2) / 2);
  }

  at::Tensor weight, bias;
  std::int64_t stride;
};

class Block {
 public:
  explicit Block(const CaptchaResNetWeights::Block& block)
      : first_(first(block.first)), second_(winograd(block.second)) {
    if (block.identity) identity_.emplace(*block.identity);
  }

  [[nodiscard]] at::Tensor run(const at::Tensor& x) const {
    const auto* direct = std::get_if<Direct>(&first_);
    const at::Tensor y = direct ? direct->run(x).relu_() : std::get<WinogradConvolution>(first_).relu(x);
    return second_.relu(y, identity_ ? identity_->run(x) : x);
  }

 private:
  using First = std::variant<WinogradConvolution, Direct>;
  static First first(const Convolution& convolution) {
    return convolution.stride == 1 ? First(winograd(convolution)) : First(Direct(convolution));
  }

  First first_;
  WinogradConvolution second_;
  std::optional<Direct> identity_;
};

class CpuNetwork final : public Network {
 public:
  explicit CpuNetwork(const CaptchaResNetWeights& weights)
      : stem_(weights.stem), fc_weight_(weights.fc_weight), fc_bias_(weights.fc_bias) {
    for (const auto& block : weights.blocks) blocks_.emplace_back(block);
  }

  [[nodiscard]] at::Tensor logits(const at::Tensor& inputs) const override {
    at::Tensor x = stem_.run(inputs.contiguous(at::MemoryFormat::ChannelsLast)).relu_();
    for (const Block& block : blocks_) x = block.run(x);
    return at::linear(x.mean({2, 3}), fc_weight_, fc_bias_);
  }

 private:
  Direct stem_;
  std::vector<Block> blocks_;
  at::Tensor fc_weight_, fc_bias_;
};

}  // namespace

std::unique_ptr<Network> captcha_resnet_cpu(const CaptchaResNetWeights& weights) {
  return std::make_unique<CpuNetwork>(weights);
}

}  // namespace ckpt::eval
