#include "models/captcha_resnet_cpu.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>

#include <optional>
#include <utility>
#include <variant>

#include "models/winograd.h"

namespace ckpt::eval {
namespace {

using Convolution = CaptchaResNetWeights::Convolution;

WinogradConvolution winograd(const Convolution& convolution) { return {convolution.weight, convolution.bias}; }

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
  /// What it takes over is released at once: these are most of the network's weights.
  explicit Block(CaptchaResNetWeights::Block&& block)
      : first_(first(std::exchange(block.first, {}))), second_(winograd(std::exchange(block.second, {}))) {
    if (block.identity) identity_.emplace(*block.identity);
  }

  [[nodiscard]] at::Tensor run(at::Tensor x) const {
    const auto* direct = std::get_if<Direct>(&first_);
    const at::Tensor y = direct ? direct->run(x).relu_() : std::get<WinogradConvolution>(first_).relu(x);
    if (identity_) x = identity_->run(x);
    return second_.relu(y, std::move(x));
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
  explicit CpuNetwork(CaptchaResNetWeights weights)
      : stem_(weights.stem), fc_weight_(weights.fc_weight), fc_bias_(weights.fc_bias) {
    for (auto& block : weights.blocks) blocks_.emplace_back(std::move(block));
  }

  [[nodiscard]] at::Tensor logits(const at::Tensor& inputs) const override {
    at::Tensor x = stem_.run(inputs.contiguous(at::MemoryFormat::ChannelsLast)).relu_();
    for (const Block& block : blocks_) x = block.run(std::move(x));
    return at::linear(x.mean({2, 3}), fc_weight_, fc_bias_);
  }

 private:
  Direct stem_;
  std::vector<Block> blocks_;
  at::Tensor fc_weight_, fc_bias_;
};

}  // namespace

std::unique_ptr<Network> captcha_resnet_cpu(CaptchaResNetWeights weights) {
  return std::make_unique<CpuNetwork>(std::move(weights));
}

}  // namespace ckpt::eval
