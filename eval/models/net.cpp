// The smallest model of two layers, fc2(fc1(x)): 3 to 2 to 1, no activation.
#include "models/chain.h"

namespace ckpt::eval {
namespace {

std::vector<ModelTensor> tensors(const std::vector<ModelTensor>&) {
  std::vector<ModelTensor> all;
  add_linear(all, "fc1", 3, 2);
  add_linear(all, "fc2", 2, 1);
  return all;
}

std::unique_ptr<Model> make(const std::vector<ModelTensor>&, const Weights& weights, const ModelRequest&) {
  Chain chain;
  chain.arch = net.name;
  chain.layers = {linear_of(weights, "fc1"), linear_of(weights, "fc2")};
  chain.signature = chain_signature(chain.layers);
  chain.activation = "none";
  return make_chain(std::move(chain));
}

}  // namespace

const Architecture net{"net", "Net", tensors, make};

}  // namespace ckpt::eval
