#include "models/captcha_resnet_cpu.h"

#include <ATen/ops/cat.h>
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

// Up to the first block of stride 2 a picture is largest and the weights are few: a few pictures at a time. Later the
// weights are many, and are read once for all pictures.
constexpr std::size_t large_blocks = 3;
constexpr std::int64_t few = 4;

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
    std::vector<at::Tensor> parts;
    for (const at::Tensor& part : inputs.split(few)) {
      at::Tensor x = stem_.run(part.contiguous(at::MemoryFormat::ChannelsLast)).relu_();
      for (std::size_t i = 0; i < large_blocks; ++i) x = blocks_[i].run(std::move(x));
      parts.push_back(std::move(x));
    }
    at::Tensor x = at::cat(parts);
    parts.clear();
    for (std::size_t i = large_blocks; i < blocks_.size(); ++i) x = blocks_[i].run(std::move(x));
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
