#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/check.h"
#include "ckpt/checkpoint.h"

namespace ckpt::eval {

/// A layer that a whole module (`torch.save(model)`) names, or a TorchScript file: a module of torch.nn that is no
/// container, or one of another class with no module in it, of which nobody knows what it runs.
struct SaidLayer {
  std::string type;  ///< "torch.nn.modules.activation.Tanh"
  std::string path;  ///< of it in the module
  ValueId value = no_value;
  /// Which nn.Sequential runs it, of those within each other the outermost: its layers run in their order. None where
  /// a forward() may call it, where it stands in no other module, or in a TorchScript file.
  std::optional<std::size_t> sequence;

  /// "activation.Tanh"; empty for other classes than those of torch.nn.
  [[nodiscard]] std::string_view of_torch() const;
};

/// Whether a layer ("dropout.Dropout") changes nothing where a model is evaluated, or but the form.
bool is_silent(std::string_view layer);

/// What a whole module says of how it runs.
struct SaidModule {
  std::vector<SaidLayer> layers;    ///< in the order in which they stand there
  std::vector<std::string> hooked;  ///< paths with hooks around forward(), its own first: no file says what they do
};

/// Of the module at `path`; nothing of a state dict. What lies beside it says nothing.
SaidModule said_module(const Checkpoint& packed, const std::string& path);

/// Throws Error (unsupported) where a Sequential runs two of the layers in another order than `tensors` have their
/// weights, whose names have `prefix` in the module.
void check_sequences(const std::vector<SaidLayer>& layers, const std::vector<ModelTensor>& tensors,
                     const std::string& prefix);

/// What the layers say runs between Linear layers: an activation as Options::activation has it, or none where nothing
/// is said (a forward() may call anything). `own`: that which the architecture runs whatever is said; empty for one
/// that takes what is said. Throws Error (unsupported) where they say something that the architecture does not run,
/// several activations, or an order in which not every two Linear layers have the same between them, or others
/// something before or behind them.
std::optional<std::string> said_activation(const std::vector<SaidLayer>& layers, std::string_view own);

}  // namespace ckpt::eval
