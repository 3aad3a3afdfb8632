#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/check.h"
#include "models/model.h"
#include "models/said_layers.h"

namespace ckpt::eval {

/// A state dict's tensors by name: float32, contiguous, in host memory.
using Weights = std::map<std::string, at::Tensor>;

/// A reference model. Adding one is a file, its name below and in architectures.cpp, and in program/settings.cpp.
struct Architecture {
  std::string_view name;        ///< "captcha-resnet"
  std::string_view class_name;  ///< of the model in Python, for PyTorch's messages
  /// What the model's own state_dict() would hold, in its order. Where sizes and depth are free they are those of
  /// `found`. Throws Error (unsupported) where no model of this kind has anything like it, saying why.
  std::vector<ModelTensor> (*tensors)(const std::vector<ModelTensor>& found);
  /// `weights` hold what `tensors` gave.
  std::unique_ptr<Model> (*make)(const std::vector<ModelTensor>& tensors, const Weights& weights,
                                 const ModelRequest& request);
  /// Of one that is no chain: throws Error (unsupported) where a whole module says layers that the model does not run.
  void (*check_said)(const Checkpoint& packed, const std::vector<SaidLayer>& layers) = nullptr;
};

/// In the order in which they are tried: exact names before any chain of Linear layers.
std::span<const Architecture> architectures();
/// The architecture of that name. Throws Error (invalid_argument) with the names there are.
const Architecture& find_architecture(std::string_view name);
/// "fnn, captcha-resnet, …".
std::string architecture_names();

extern const Architecture fnn, captcha_resnet, foonet, net, mlp;

}  // namespace ckpt::eval
