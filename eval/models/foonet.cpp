// Linear layers without biases, linears.0, linears.1 …, a ReLU after every one. Width and depth are the file's.
#include <map>
#include <string_view>

#include "models/chain.h"

namespace ckpt::eval {
namespace {

std::string layer_name(std::size_t index) { return "linears." + std::to_string(index); }

std::vector<ModelTensor> tensors(const std::vector<ModelTensor>& found) {
  std::map<std::string_view, const ModelTensor*> named;
  for (const ModelTensor& tensor : found) named.emplace(tensor.name, &tensor);
  std::vector<ModelTensor> all;
  for (std::size_t i = 0;; ++i) {
    const std::string weight = layer_name(i) + ".weight";
    const auto layer = named.find(weight);
    if (layer == named.end() || layer->second->shape.size() != 2) break;
    const std::vector<std::int64_t>& shape = layer->second->shape;
    // What one layer gives, the next one takes.
    add_linear(all, layer_name(i), all.empty() ? shape[1] : all.back().shape[0], shape[0], false);
  }
  if (all.empty()) all.push_back({layer_name(0) + ".weight", {}});  // it will be missed
  return all;
}

std::unique_ptr<Model> make(const std::vector<ModelTensor>& tensors, const Weights& weights, const ModelRequest&) {
  Chain chain;
  chain.arch = foonet.name;
  for (std::size_t i = 0; i < tensors.size(); ++i) chain.layers.push_back(linear_of(weights, layer_name(i)));
  chain.signature = chain_signature(chain.layers);
  chain.activated_output = true;
  return make_chain(std::move(chain));
}

}  // namespace

const Architecture foonet{"foonet", "FooNet", tensors, make};

}  // namespace ckpt::eval
