// Any chain of Linear layers: names, sizes and order are the state dict's.
#include <algorithm>
#include <set>
#include <string_view>

#include "ckpt/error.h"
#include "models/chain.h"
#include "models/layer_order.h"
#include "models/mlp.h"

namespace ckpt::eval {
namespace {

/// "fc1" of "fc1.weight", "" of "weight"; none for other keys.
std::optional<std::string> layer_of(std::string_view key, std::string_view part) {
  if (key == part) return std::string();
  if (key.size() <= part.size() || !key.ends_with(part) || key[key.size() - part.size() - 1] != '.')
    return std::nullopt;
  return std::string(key.substr(0, key.size() - part.size() - 1));
}

/// "fc1 784 to 128, fc2 64 to 10", of many the first.
std::string sizes_text(const std::vector<LayerSize>& layers) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(layers.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + layers[i].name + " " + std::to_string(layers[i].in) + " to " +
            std::to_string(layers[i].out);
  return layers.size() > most ? text + " and " + std::to_string(layers.size() - most) + " more" : text;
}

/// The Linear layers among the tensors, in their order.
std::vector<LayerSize> layers_of(const std::vector<ModelTensor>& tensors) {
  std::vector<LayerSize> layers;
  for (const auto& [name, shape, dtype] : tensors)
    if (const auto layer = layer_of(name, "weight"); layer && shape.size() == 2)
      layers.push_back({*layer, shape[1], shape[0]});
  return layers;
}

std::set<std::string> biased_layers(const std::vector<ModelTensor>& tensors) {
  std::set<std::string> biased;
  for (const ModelTensor& tensor : tensors)
    if (auto layer = layer_of(tensor.name, "bias")) biased.insert(std::move(*layer));
  return biased;
}

std::vector<ModelTensor> tensors(const std::vector<ModelTensor>& found) {
  const std::vector<LayerSize> layers = layers_of(found);
  const std::set<std::string> biased = biased_layers(found);
  if (layers.empty()) throw Error(ErrorCode::unsupported, "no key names the matrix of a Linear layer");
  const auto order = in_order(layers);
  if (!order) throw Error(ErrorCode::unsupported, "its Linear layers form no chain: " + sizes_text(layers));
  std::vector<ModelTensor> all;
  for (const auto& [layer, in, out] : order->layers) add_linear(all, layer, in, out, biased.contains(layer));
  return all;
}

std::unique_ptr<Model> make(const std::vector<ModelTensor>& tensors, const Weights& weights,
                            const ModelRequest& request) {
  Chain chain;
  chain.arch = mlp.name;
  for (const ModelTensor& tensor : tensors)
    if (const auto layer = layer_of(tensor.name, "weight")) chain.layers.push_back(linear_of(weights, *layer));
  chain.signature = chain_signature(chain.layers);
  if (request.activation) chain.activation = *request.activation;
  if (request.normalize) std::tie(chain.signature.mean, chain.signature.std) = *request.normalize;
  return make_chain(std::move(chain));
}

}  // namespace

std::string uncertain_order(const std::vector<ModelTensor>& tensors) {
  const auto order = in_order(layers_of(tensors));
  return order && !order->is_certain ? sizes_text(order->layers) : std::string();
}

void check_biases(const std::vector<ModelTensor>& tensors) {
  const std::set<std::string> biased = biased_layers(tensors);
  if (biased.empty()) return;
  for (const LayerSize& layer : layers_of(tensors))
    if (!biased.contains(layer.name))
      throw Error(ErrorCode::unsupported,
                  "its layer '" + layer.name + "' has no bias, and others have one (--arch mlp runs it so)");
}

const Architecture mlp{"mlp", "MLP", tensors, make};

}  // namespace ckpt::eval
