#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"
#include "ckpt/state_dict.h"

/// Whole modules (`torch.save(model, path)`): objects of any class, known here or not, that hold `_parameters`,
/// `_buffers` and `_modules` as every torch.nn.Module does.
///
///     ckpt::Checkpoint c = ckpt::load("model.pt");           // torch.save(model)
///     c = ckpt::unpack_modules(std::move(c));                // as if model.state_dict() had been saved
namespace ckpt {

struct Module {
  std::string path;  ///< from the root, joined by dots; empty for the root itself
  ValueId value = no_value;
  std::string class_name;  ///< "torch.nn.modules.linear.Linear"; empty where the file does not tell
};

/// The outermost modules of the checkpoint in file order, each once: looked for where state dicts are
/// (find_state_dicts()), through mappings, lists and tuples. Not searched: attributes of other objects. Throws as
/// find_state_dicts() does.
CKPT_API std::vector<Module> find_modules(const Checkpoint& checkpoint);

/// A module where it stands in another, or that other itself.
struct Submodule {
  std::string path;       ///< from the outer module, joined by dots; empty for the outer one
  std::size_t depth = 0;  ///< 0 for the outer one
  ValueId value = no_value;
  std::string class_name;  ///< as of Module
};

/// The module and all that it holds, once for each place, each before what is in it, in the order of `_modules`: as
/// Python's named_modules(remove_duplicate=False) gives them; of a TorchScript file the outer one alone. Throws Error:
/// corrupt (a module within itself), limit_exceeded (modules shared past ckpt/limits.h).
CKPT_API std::vector<Submodule> submodules(const Checkpoint& checkpoint, const Module& module);

/// What a module's pickle gives it as an attribute (`eps`, `stride`): the last of that name. no_value where there is
/// none; a class has others, which no pickle holds.
CKPT_API ValueId module_attribute(const Checkpoint& checkpoint, ValueId module, std::string_view name);

struct Parts {
  std::vector<StateDict> state_dicts;
  std::vector<Module> modules;
  std::vector<OptimizerState> optimizers;
  /// Mappings that are no state dict, for they hold other values beside a model's tensors ("fc.weight"; where trainers
  /// keep a model, "model", any).
  std::vector<StateDict> mixed;
};

/// What find_state_dicts(), find_modules() and find_optimizer_states() find, on one walk, and throw.
CKPT_API Parts find_parts(const Checkpoint& checkpoint);

/// The options of `ckpt convert` that make a state dict of a module of the file: --weights-only, with --root where it
/// is not the only part. Empty where no module has a tensor for one: a loss
/// that was saved whole, a frozen TorchScript file.
CKPT_API std::string weights_only_options(const Checkpoint& checkpoint, const Parts& parts);

/// Each module of find_modules() as the state dict that its state_dict() would give: names, order, `_metadata`, plain
/// tensors without gradient that share what they shared. The rest of the checkpoint stays, but for what only modules
/// held. What is known to differ from Python (hooks, classes that write their own) is added to `warnings`. Where there
/// is no module, the checkpoint comes back as it is.
/// Throws Error: corrupt (a module within itself), unsupported (no tensor is left, as a class of torch writes its own
/// state), invalid_argument (a TorchScript module without parameters and buffers), limit_exceeded (modules shared past
/// ckpt/limits.h), and of TorchScript, whose code it reads, what reading throws.
CKPT_API Checkpoint unpack_modules(Checkpoint checkpoint);

}  // namespace ckpt
