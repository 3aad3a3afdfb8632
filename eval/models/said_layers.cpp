#include "models/said_layers.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

/// "activation.Tanh" of torch.nn.modules, also as TorchScript names it ("__torch__.…", "….___torch_mangle_3.Tanh").
std::string layer_class(const GlobalUse& global) {
  std::string_view module = global.module;
  if (module.starts_with("__torch__.")) module.remove_prefix(std::string_view("__torch__.").size());
  module = module.substr(0, module.find(".___torch_mangle_"));
  constexpr std::string_view modules = "torch.nn.modules.";
  if (!module.starts_with(modules)) return {};
  return std::string(module.substr(modules.size())) + "." + global.name;
}

/// What changes nothing of which class is found where a chain of Linear layers is evaluated.
bool is_silent(std::string_view layer) {
  static constexpr std::string_view files[] = {"container.", "dropout.", "flatten.", "linear.", "loss.", "module."};
  return layer == "activation.Softmax" || layer == "activation.LogSoftmax" ||
         std::any_of(std::begin(files), std::end(files),
                     [&](std::string_view file) { return layer.starts_with(file); });
}

std::string_view activation_of(std::string_view layer) {
  struct Known {
    std::string_view layer, activation;
  };
  static constexpr Known known[] = {{"activation.ReLU", "relu"},
                                    {"activation.Tanh", "tanh"},
                                    {"activation.Sigmoid", "sigmoid"},
                                    {"activation.GELU", "gelu"}};
  const auto* const found =
      std::find_if(std::begin(known), std::end(known), [&](const Known& k) { return k.layer == layer; });
  return found == std::end(known) ? std::string_view() : found->activation;
}

}  // namespace

std::optional<std::string> said_activation(const std::vector<GlobalUse>& globals, std::string_view own) {
  std::set<std::string> layers;
  for (const GlobalUse& global : globals)
    if (std::string layer = layer_class(global); !layer.empty() && !is_silent(layer)) layers.insert(std::move(layer));
  if (layers.empty()) return std::nullopt;
  const std::string_view only = layers.size() == 1 ? activation_of(*layers.begin()) : std::string_view();
  if (!only.empty() && (own.empty() || only == own)) return std::string(only);
  std::string list;
  for (const std::string& layer : layers) list += (list.empty() ? "torch.nn.modules." : ", torch.nn.modules.") + layer;
  throw Error(ErrorCode::unsupported, "the module in the file has " + list + " beside its Linear layers")
      .expected(own.empty() ? "one activation, of relu, tanh, sigmoid and gelu"
                            : "its activation to be " + std::string(own));
}

}  // namespace ckpt::eval
