// Five Linear layers for 28×28 digits: layer_1 … layer_5.
#include "models/chain.h"

namespace ckpt::eval {
namespace {

constexpr std::int64_t sizes[] = {784, 512, 256, 128, 64, 10};
constexpr std::size_t depth = std::size(sizes) - 1;

std::string layer_name(std::size_t index) { return "layer_" + std::to_string(index + 1); }

std::vector<ModelTensor> tensors(const std::vector<ModelTensor>&) {
  std::vector<ModelTensor> all;
  for (std::size_t i = 0; i < depth; ++i) add_linear(all, layer_name(i), sizes[i], sizes[i + 1]);
  return all;
}

std::unique_ptr<Model> make(const std::vector<ModelTensor>&, const Weights& weights, const ModelRequest&) {
  Chain chain;
  chain.arch = fnn.name;
  for (std::size_t i = 0; i < depth; ++i) chain.layers.push_back(linear_of(weights, layer_name(i)));
  chain.signature = chain_signature(chain.layers);
  // Of the pixels of MNIST's training set.
  chain.signature.mean = 0.1307;
  chain.signature.std = 0.3081;
  return make_chain(std::move(chain));
}

}  // namespace

const Architecture fnn{"fnn", "FNN", tensors, make};

}  // namespace ckpt::eval
