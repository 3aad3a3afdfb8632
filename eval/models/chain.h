#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/architecture.h"

namespace ckpt::eval {

/// Linear layers one after another, with an activation between them.
struct Chain {
  struct Linear {
    at::Tensor weight;  ///< [out, in]
    at::Tensor bias;    ///< [out]; undefined: none
  };
  std::string arch;
  Signature signature;
  std::vector<Linear> layers;
  std::string activation = "relu";  ///< as Options::activation
  bool activated_output = false;    ///< the activation follows the last layer, too
};

/// Throws Error (invalid_argument) for an activation that nobody knows.
std::unique_ptr<Model> make_chain(Chain chain);

/// The tensors that nn.Linear(in, out, bias) adds to a state dict under `name`; the empty name is the model itself.
void add_linear(std::vector<ModelTensor>& tensors, const std::string& name, std::int64_t in, std::int64_t out,
                bool bias = true);
/// The layer of that name.
Chain::Linear linear_of(const Weights& weights, const std::string& name);
/// Input and output of a chain: [first layer's in] to `classes` of the last. Throws Error (unsupported) where it has
/// no outputs.
Signature chain_signature(const std::vector<Chain::Linear>& layers);

}  // namespace ckpt::eval
