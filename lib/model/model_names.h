#pragma once

#include <array>
#include <string_view>

namespace ckpt {

/// Paths that trainers keep the weights under, the likeliest first; the empty one is the root.
inline constexpr std::array<std::string_view, 5> usual_paths{"", "state_dict", "model_state_dict", "model", "net"};

/// Whether a tensor of that key is a model's: a layer's ("fc.weight"), or a layer's own. What else maps names to
/// tensors, such as a scaler or the states of random generators, has others.
inline bool is_models_key(std::string_view key) {
  return key.find('.') != std::string_view::npos || key == "weight" || key == "bias";
}

}  // namespace ckpt
