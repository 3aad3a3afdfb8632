#pragma once

#include <array>
#include <string_view>

namespace ckpt {

/// Paths that trainers keep the weights under, the likeliest first; the empty one is the root.
inline constexpr std::array<std::string_view, 5> usual_paths{"", "state_dict", "model_state_dict", "model", "net"};

/// Whether a tensor of that key is a model's: a layer's ("fc.weight"), or a layer's own. What else maps names to
/// tensors, such as a scaler or the states of random generators, has others: Lightning's best_k_models files' paths.
inline bool is_models_key(std::string_view key) {
  const bool is_path = key.find_first_of("/\\") != std::string_view::npos;
  return (key.find('.') != std::string_view::npos && !is_path) || key == "weight" || key == "bias";
}

/// Whether what a quantised layer packs stands there: weight and bias in a tuple, or their dtype.
inline bool is_packed(std::string_view key) {
  return key.ends_with("_packed_params") || key.ends_with("_packed_params.dtype");
}

/// The last part of the key under which stands what get_extra_state() of a module gave.
inline constexpr std::string_view extra_state = "_extra_state";

/// Whether a state dict may hold anything under that key: what get_extra_state() of a module gave, or is_packed().
/// PyTorch hands either to the module as it is.
inline bool may_hold_anything(std::string_view key) {
  return key.substr(key.rfind('.') + 1) == extra_state || is_packed(key);
}

}  // namespace ckpt
