#include "models/said_layers.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"

namespace ckpt::eval {
namespace {

constexpr std::string_view modules_of_torch = "torch.nn.modules.";

bool begins_with_any(std::string_view layer, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](auto beginning) { return layer.starts_with(beginning); });
}

/// linear.Linear and its like: which of them fit, names and shapes say.
bool is_linear(std::string_view layer) { return layer.starts_with("linear.") && layer != "linear.Identity"; }

bool is_container(std::string_view layer) { return begins_with_any(layer, {"container.", "module."}); }

/// What changes nothing of which class is found, behind the last of the Linear layers.
bool keeps_the_largest(std::string_view layer) {
  return layer == "activation.Softmax" || layer == "activation.LogSoftmax";
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

/// "activation.Tanh" of torch.nn.modules, as TorchScript names it ("__torch__.…", "….___torch_mangle_3.Tanh").
std::string scripted_type(const GlobalUse& global) {
  std::string_view module = global.module;
  if (module.starts_with("__torch__.")) module.remove_prefix(std::string_view("__torch__.").size());
  return std::string(module.substr(0, module.find(".___torch_mangle_"))) + "." + global.name;
}

/// With what it was made of, where that is another layer than the class alone would be.
std::string type_of(const Checkpoint& packed, const Submodule& module) {
  const ValueId approximate = module_attribute(packed, module.value, "approximate");
  if (approximate == no_value || !packed.values.is_string(approximate)) return module.class_name;
  const std::string_view how = packed.values.text(approximate);
  return module.class_name + (how == "none" ? "" : "(approximate='" + std::string(how) + "')");
}

/// The module at `path` and all that it holds; none of a state dict.
std::vector<Submodule> modules_at(const Checkpoint& packed, const std::string& path) {
  for (const Module& module : find_modules(packed))
    if (module.path == path) return submodules(packed, module);
  return {};
}

bool has_hooks(const Checkpoint& packed, ValueId module) {
  return std::ranges::any_of(std::array{"_forward_hooks", "_forward_pre_hooks"}, [&](const char* name) {
    const ValueId hooks = module_attribute(packed, module, name);
    return hooks != no_value && is_mapping(packed.values, hooks) && !mapping_entries(packed.values, hooks).empty();
  });
}

std::vector<SaidLayer> layers_of(const Checkpoint& packed, const std::vector<Submodule>& modules) {
  std::vector<SaidLayer> layers;
  std::vector<std::optional<std::size_t>> around;  // by depth: the sequence that a module is, or is part of
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Submodule& module = modules[i];
    around.resize(module.depth);
    const std::optional<std::size_t> sequence = module.depth == 0 ? std::nullopt : around.back();
    const bool is_sequence = module.class_name == "torch.nn.modules.container.Sequential";
    around.push_back(is_sequence ? sequence.value_or(i) : std::optional<std::size_t>());
    const bool is_empty = i + 1 == modules.size() || modules[i + 1].depth <= module.depth;
    SaidLayer layer{type_of(packed, module), module.path, module.value, sequence};
    const bool is_of_torch = !layer.of_torch().empty();
    if (is_of_torch ? !is_container(layer.of_torch()) : is_empty && module.depth > 0)
      layers.push_back(std::move(layer));
  }
  return layers;
}

/// "Linear, Softmax, Linear", of many the first.
std::string order_text(const std::vector<SaidLayer>& layers) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(layers.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + layers[i].type.substr(layers[i].type.rfind('.') + 1);
  return layers.size() > most ? text + ", …" : text;
}

/// What stands between, before and behind the Linear layers, as far as a Sequential says so.
struct Order {
  bool is_bare = false;  ///< nothing between two of them
  bool is_open = false;  ///< between two of them a forward() may call anything
  bool is_other = false;
};

Order order_of(const std::vector<SaidLayer>& layers) {
  Order order;
  const SaidLayer* last = nullptr;       // of the Linear layers
  std::vector<const SaidLayer*> others;  // since then
  const auto runs_beside = [&](const SaidLayer* other, const SaidLayer& layer) {
    return layer.sequence && other->sequence == layer.sequence;
  };
  for (const SaidLayer& layer : layers) {
    if (is_silent(layer.of_torch())) continue;
    if (!is_linear(layer.of_torch())) {
      others.push_back(&layer);
      continue;
    }
    const auto beside =
        std::ranges::count_if(others, [&](const SaidLayer* other) { return runs_beside(other, layer); });
    if (last == nullptr)
      order.is_other |= beside > 0;
    else if (!runs_beside(last, layer) || static_cast<std::size_t>(beside) != others.size())
      order.is_open = true;
    else if (others.empty())
      order.is_bare = true;
    else
      order.is_other |= others.size() > 1 || keeps_the_largest(others[0]->of_torch());
    last = &layer;
    others.clear();
  }
  if (last == nullptr) return order;
  order.is_other |= std::ranges::any_of(others, [&](const SaidLayer* other) {
    return runs_beside(other, *last) && !keeps_the_largest(other->of_torch());
  });
  return order;
}

}  // namespace

bool is_silent(std::string_view layer) {
  return begins_with_any(layer, {"container.", "dropout.", "flatten.", "linear.Identity", "loss.", "module."});
}

std::string_view SaidLayer::of_torch() const {
  const std::string_view name = type;
  return name.starts_with(modules_of_torch) ? name.substr(modules_of_torch.size()) : std::string_view();
}

SaidModule said_module(const Checkpoint& packed, const std::string& path) {
  SaidModule said;
  const std::vector<Submodule> modules = modules_at(packed, path);
  for (const Submodule& module : modules)
    if (has_hooks(packed, module.value)) said.hooked.push_back(module.path);
  if (modules.size() > 1) {
    said.layers = layers_of(packed, modules);
    return said;
  }
  for (const GlobalUse& global : take_root(packed, path).globals) {
    SaidLayer layer{scripted_type(global), {}, no_value, {}};
    if (!layer.of_torch().empty()) said.layers.push_back(std::move(layer));
  }
  return said;
}

void check_sequences(const std::vector<SaidLayer>& layers, const std::vector<ModelTensor>& tensors,
                     const std::string& prefix) {
  std::map<std::string, std::size_t> places;
  for (const ModelTensor& tensor : tensors) places.emplace(prefix + tensor.name, places.size());
  struct Ran {
    std::string path;
    std::size_t place = 0;
  };
  std::map<std::size_t, Ran> last;  // of each Sequential
  for (const SaidLayer& layer : layers) {
    const auto place = places.find(layer.path + ".weight");
    if (!layer.sequence || place == places.end()) continue;
    const Ran now{layer.path, place->second};
    const auto before = last.emplace(*layer.sequence, now).first;
    if (before->second.place > now.place)
      throw Error(ErrorCode::unsupported,
                  "the module in the file runs its layer '" + before->second.path + "' before '" + now.path + "'")
          .expected("'" + now.path + "' first");
    before->second = now;
  }
}

std::optional<std::string> said_activation(const std::vector<SaidLayer>& layers, std::string_view own) {
  std::set<std::string_view> types, activations;
  for (const SaidLayer& layer : layers) {
    const std::string_view name = layer.of_torch();
    if (is_linear(name) || is_silent(name) || keeps_the_largest(name)) continue;
    types.insert(layer.type);
    activations.insert(activation_of(name));
  }
  const auto refused = [&](const std::string& what, const std::string& expected) {
    return Error(ErrorCode::unsupported, "the module in the file " + what)
        .expected(own.empty() ? expected : "its activation to be " + std::string(own));
  };
  const bool is_of_another = !own.empty() && !activations.empty() && *activations.begin() != own;
  if (activations.size() > 1 || activations.contains("") || is_of_another) {
    std::string list;
    for (const std::string_view type : types) list += (list.empty() ? "" : ", ") + std::string(type);
    throw refused("has " + list + " beside its Linear layers", "one activation, of relu, tanh, sigmoid and gelu");
  }
  const Order order = order_of(layers);
  const bool is_bare = order.is_bare && activations.empty() && !order.is_open;
  if (order.is_other || (order.is_bare && !is_bare) || (is_bare && !own.empty() && own != "none"))
    throw refused("has the layers " + order_text(layers), "one activation between every two Linear layers, or none");
  if (is_bare) return "none";
  return activations.empty() ? std::nullopt : std::optional<std::string>(*activations.begin());
}

}  // namespace ckpt::eval
