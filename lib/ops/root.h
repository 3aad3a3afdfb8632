#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/export.h"
#include "ckpt/modules.h"
#include "ckpt/state_dict.h"

namespace ckpt {

/// The path that `--root` means: itself, or for "auto" the path of the state dict that a user would mean without
/// saying so: the root, "state_dict", "model_state_dict", "model", "net", else the only one there is.
/// Throws Error (invalid_argument) where "auto" finds none, several and none of these, or in one of these places
/// a model's tensors beside other values.
CKPT_API std::string resolve_root(const Checkpoint& checkpoint, std::string_view root);

/// Throws Error (invalid_argument) where a model's tensors lie beside other values in a place where trainers keep a
/// model.
void refuse_mixed_model(const Checkpoint& checkpoint, const Parts& parts);

/// Of those that several paths lead to, the first path.
std::vector<StateDict> each_once(std::vector<StateDict> dicts);

/// State dicts that are models' (models_of()), in the file's order, and the others; all are models' where nothing says
/// which are.
struct ModelDicts {
  std::vector<StateDict> models, others;
};
ModelDicts model_dicts(const ValueGraph& values, std::vector<StateDict> dicts);

/// What to throw where a path that was asked for leads to none.
Error no_state_dict_at(const Checkpoint& checkpoint, std::string_view path);

/// `name` relative to `root`, a path; none where it does not lie below it. The empty root holds every name.
CKPT_API std::optional<std::string_view> name_below(std::string_view root, std::string_view name);

/// The names of tensors that lie below `root`, relative to it, in the file's order.
/// Throws Error (invalid_argument) where none does.
std::vector<NamedTensor> tensors_below(const Checkpoint& checkpoint, std::string_view root);

}  // namespace ckpt
