#include "models/chain.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>

#include "ckpt/error.h"
#include "models/precision.h"

namespace ckpt::eval {
namespace {

using Activation = at::Tensor (*)(const at::Tensor&);

Activation activation_named(std::string_view name) {
  if (name == "relu") return [](const at::Tensor& x) { return at::relu(x); };
  if (name == "tanh") return [](const at::Tensor& x) { return at::tanh(x); };
  if (name == "sigmoid") return [](const at::Tensor& x) { return at::sigmoid(x); };
  if (name == "gelu") return [](const at::Tensor& x) { return at::gelu(x); };
  if (name == "none") return nullptr;
  throw Error(ErrorCode::invalid_argument, "no activation is called '" + std::string(name) + "'")
      .expected("relu, tanh, sigmoid, gelu or none");
}

class ChainNetwork final : public Network {
 public:
  ChainNetwork(std::vector<Chain::Linear> layers, Activation activation, bool activated_output)
      : layers_(std::move(layers)), activation_(activation), activated_output_(activated_output) {}

  [[nodiscard]] at::Tensor logits(const at::Tensor& inputs) const override {
    at::Tensor x = inputs.flatten(1).to(layers_.front().weight.scalar_type());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto& [weight, bias] = layers_[i];
      x = bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
      if (activation_ != nullptr && (activated_output_ || i + 1 < layers_.size())) x = activation_(x);
    }
    return x.to(at::kFloat);
  }

 private:
  std::vector<Chain::Linear> layers_;
  Activation activation_;
  bool activated_output_;
};

class ChainModel final : public Model {
 public:
  explicit ChainModel(Chain chain) : chain_(std::move(chain)), activation_(activation_named(chain_.activation)) {}

  [[nodiscard]] const std::string& arch() const override { return chain_.arch; }
  [[nodiscard]] const Signature& signature() const override { return chain_.signature; }
  [[nodiscard]] std::string activation() const override { return chain_.activation; }

  [[nodiscard]] std::shared_ptr<const Network> prepare(at::Device device, Precision precision) const override {
    const at::TensorOptions options = compute_options(device, precision);
    std::vector<Chain::Linear> layers;
    for (const auto& [weight, bias] : chain_.layers)
      layers.push_back({weight.to(options), bias.defined() ? bias.to(options) : bias});
    return std::make_unique<ChainNetwork>(std::move(layers), activation_, chain_.activated_output);
  }

 private:
  Chain chain_;
  Activation activation_;
};

}  // namespace

std::unique_ptr<Model> make_chain(Chain chain) { return std::make_unique<ChainModel>(std::move(chain)); }

void add_linear(std::vector<ModelTensor>& tensors, const std::string& name, std::int64_t in, std::int64_t out,
                bool bias) {
  const std::string prefix = name.empty() ? name : name + ".";
  tensors.push_back({prefix + "weight", {out, in}});
  if (bias) tensors.push_back({prefix + "bias", {out}});
}

Chain::Linear linear_of(const Weights& weights, const std::string& name) {
  const std::string prefix = name.empty() ? name : name + ".";
  const auto bias = weights.find(prefix + "bias");
  return {weights.at(prefix + "weight"), bias == weights.end() ? at::Tensor() : bias->second};
}

Signature chain_signature(const std::vector<Chain::Linear>& layers) {
  if (layers.back().weight.size(0) < 1) throw Error(ErrorCode::unsupported, "its last layer has no outputs");
  Signature signature;
  signature.input = {layers.front().weight.size(1)};
  signature.classes = layers.back().weight.size(0);
  return signature;
}

}  // namespace ckpt::eval
