// A ResNet-18 without max-pool for captchas of four characters: which tensors it has, and how they become weights.
#include "models/captcha_resnet.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "bridge/torch_errors.h"
#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "models/architecture.h"
#include "models/captcha.h"
#include "models/captcha_resnet_aten.h"
#include "models/captcha_resnet_cpu.h"
#include "models/chain.h"

namespace ckpt::eval {
namespace {

using Convolution = CaptchaResNetWeights::Convolution;
using Block = CaptchaResNetWeights::Block;

constexpr std::int64_t widths[] = {64, 128, 256, 512};
constexpr int blocks_a_layer = 2;
constexpr double norm_epsilon = 1e-5;

/// A place in the network where a block stands.
struct BlockPlace {
  std::string name;  ///< "layer2.0"
  std::int64_t in, out, stride;
  [[nodiscard]] bool has_identity() const { return stride != 1 || in != out; }
};

std::vector<BlockPlace> block_places() {
  std::vector<BlockPlace> places;
  std::int64_t in = widths[0];
  for (std::size_t layer = 0; layer < std::size(widths); ++layer)
    for (int block = 0; block < blocks_a_layer; ++block) {
      const std::int64_t stride = layer > 0 && block == 0 ? 2 : 1;
      places.push_back({"layer" + std::to_string(layer + 1) + "." + std::to_string(block), in, widths[layer], stride});
      in = widths[layer];
    }
  return places;
}

/// Sequential(Conv2d(bias=False), BatchNorm2d).
void add_convolution(std::vector<ModelTensor>& all, const std::string& name, std::int64_t in, std::int64_t out,
                     std::int64_t size) {
  all.push_back({name + ".0.weight", {out, in, size, size}});
  for (const char* part : {"weight", "bias", "running_mean", "running_var"})
    all.push_back({name + ".1." + part, {out}});
  all.push_back({name + ".1.num_batches_tracked", {}, DType::int64});
}

std::vector<ModelTensor> tensors(const std::vector<ModelTensor>&) {
  std::vector<ModelTensor> all;
  add_convolution(all, "conv1", 3, widths[0], 3);
  for (const BlockPlace& place : block_places()) {
    add_convolution(all, place.name + ".conv1", place.in, place.out, 3);
    add_convolution(all, place.name + ".conv2", place.out, place.out, 3);
    if (place.has_identity()) add_convolution(all, place.name + ".identity", place.in, place.out, 1);
  }
  add_linear(all, "fc_model", widths[3], captcha_outputs);
  return all;
}

/// Folds in double precision: y = (x * w - mean) * scale + bias is x * (w * scale) + (bias - mean * scale).
Convolution folded(const Weights& weights, const std::string& name, std::int64_t stride) {
  const auto wide = [&](const char* part) { return weights.at(name + part).to(at::kDouble); };
  const at::Tensor scale = wide(".1.weight").mul(wide(".1.running_var").add(norm_epsilon).rsqrt());
  return {wide(".0.weight").mul(scale.view({-1, 1, 1, 1})).to(at::kFloat),
          wide(".1.bias").sub(wide(".1.running_mean").mul(scale)).to(at::kFloat), stride};
}

class CaptchaResNet final : public Model {
 public:
  explicit CaptchaResNet(const Weights& weights) : arch_(captcha_resnet.name) {
    weights_.stem = folded(weights, "conv1", 1);
    for (const BlockPlace& place : block_places()) {
      Block block{folded(weights, place.name + ".conv1", place.stride), folded(weights, place.name + ".conv2", 1), {}};
      if (place.has_identity()) block.identity = folded(weights, place.name + ".identity", place.stride);
      weights_.blocks.push_back(std::move(block));
    }
    const Chain::Linear fc = linear_of(weights, "fc_model");
    weights_.fc_weight = fc.weight;
    weights_.fc_bias = fc.bias;
    signature_.input = {3, 56, 24};
    signature_.positions = captcha_positions;
    signature_.classes = captcha_classes;
    signature_.alphabet = captcha_alphabet;
  }

  [[nodiscard]] const std::string& arch() const override { return arch_; }
  [[nodiscard]] const Signature& signature() const override { return signature_; }

  [[nodiscard]] std::shared_ptr<const Network> prepare(at::Device device, Precision precision) const override {
    if (!device.is_cpu()) return captcha_resnet_aten(weights(), device, precision);
    const std::lock_guard lock(mutex_);
    if (!on_cpu_) on_cpu_ = captcha_resnet_cpu(std::exchange(weights(), {}));
    return on_cpu_;
  }

 private:
  CaptchaResNetWeights& weights() const {
    if (!weights_.fc_weight.defined())
      throw Error(ErrorCode::unavailable, "the weights have gone into a network for the CPU");
    return weights_;
  }

  std::string arch_;
  Signature signature_;
  mutable std::mutex mutex_;
  mutable CaptchaResNetWeights weights_;           ///< 45 MB, until they go into
  mutable std::shared_ptr<const Network> on_cpu_;  ///< where they are 160
};

std::unique_ptr<Model> make(const std::vector<ModelTensor>&, const Weights& weights, const ModelRequest&) {
  return with_torch("folding batch norms", [&] { return std::make_unique<CaptchaResNet>(weights); });
}

/// A number, or a tuple of such as alike as in `stride=(2, 2)`.
bool is_all(const ValueGraph& values, ValueId id, double wanted) {
  if (values.kind(id) == ValueKind::integer) return static_cast<double>(values.integer(id)) == wanted;
  if (values.kind(id) == ValueKind::real) return values.real(id) == wanted;
  if (values.kind(id) != ValueKind::tuple) return false;
  return std::ranges::all_of(values.items(id), [&](ValueId item) {
    return values.kind(item) == ValueKind::integer && static_cast<double>(values.integer(item)) == wanted;
  });
}

/// Throws Error (unsupported) where the layer was made with other arguments.
class SaidArguments {
 public:
  SaidArguments(const Checkpoint& packed, const SaidLayer& layer) : packed_(packed), layer_(layer) {}

  void number(std::string_view name, double wanted) const {
    const ValueId value = module_attribute(packed_, layer_.value, name);
    if (value != no_value && !is_all(packed_.values, value, wanted)) refuse(name);
  }
  void text(std::string_view name, std::string_view wanted) const {
    const ValueId value = module_attribute(packed_, layer_.value, name);
    if (value != no_value && !packed_.values.is_string(value, wanted)) refuse(name);
  }

 private:
  [[noreturn]] void refuse(std::string_view argument) const {
    throw Error(ErrorCode::unsupported, "the module in the file has a " + layer_.type + ", '" + layer_.path +
                                            "', with another " + std::string(argument) + " than captcha-resnet's")
        .expected("the layers of captcha-resnet");
  }

  const Checkpoint& packed_;
  const SaidLayer& layer_;
};

void check_said(const Checkpoint& packed, const std::vector<SaidLayer>& layers) {
  struct Made {
    std::int64_t stride = 1, padding = 1;
  };
  std::map<std::string, Made> made;  // all others of 1 and 1
  for (const BlockPlace& place : block_places()) {
    made[place.name + ".conv1.0"] = {place.stride, 1};
    made[place.name + ".identity.0"] = {place.stride, 0};
  }
  for (const SaidLayer& layer : layers) {
    const SaidArguments arguments(packed, layer);
    const std::string_view type = layer.of_torch();
    if (type == "conv.Conv2d") {
      const auto [stride, padding] = made[layer.path];
      arguments.number("stride", static_cast<double>(stride));
      arguments.number("padding", static_cast<double>(padding));
      arguments.number("dilation", 1);
      arguments.text("padding_mode", "zeros");
    } else if (type == "batchnorm.BatchNorm2d") {
      arguments.number("eps", norm_epsilon);
    } else if (type == "pooling.AdaptiveAvgPool2d") {
      arguments.number("output_size", 1);
    } else if (type != "activation.ReLU" && type != "linear.Linear" && !is_silent(type)) {
      throw Error(ErrorCode::unsupported, "the module in the file has a " + layer.type + ", '" + layer.path + "'")
          .expected("the layers of captcha-resnet: Conv2d, BatchNorm2d, ReLU, Linear, and a mean");
    }
  }
}

}  // namespace

const Architecture captcha_resnet{"captcha-resnet", "CaptchaResNet", tensors, make, check_said};

}  // namespace ckpt::eval
