#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "ckpt/value.h"

namespace ckpt {

/// The attributes that a torch.nn.Module keeps its state in; no_value where it has none.
struct ModuleParts {
  ValueId parameters = no_value, buffers = no_value, modules = no_value;  ///< mappings
  ValueId non_persistent = no_value;                                      ///< a set of buffers' names
  ValueId hooks = no_value, pre_hooks = no_value;                         ///< of state_dict()
  ValueId compiled = no_value;  ///< the module that torch.compile() was given, which is all that its own holds

  [[nodiscard]] bool is_module() const {
    return compiled != no_value || (parameters != no_value && buffers != no_value && modules != no_value);
  }
};

/// Reads what objects were given as their attributes: each object once, and each state, however many are given it.
class ModuleReader {
 public:
  explicit ModuleReader(const ValueGraph& values) : values_(values) {}

  /// Of any value; nothing of one that is no object, or a mapping.
  const ModuleParts& read(ValueId id);

 private:
  const ModuleParts& attributes(ValueId mapping);

  const ValueGraph& values_;
  std::unordered_map<ValueId, ModuleParts> objects_, mappings_;
};

/// The class that a persistent value names together with its source, as legacy files have it: ('module', class, file,
/// source). no_value of any other value.
ValueId class_with_source(const ValueGraph& values, ValueId id);

/// "torch.nn.modules.linear.Linear"; empty where the call does not tell.
std::string class_name(const ValueGraph& values, ValueId object);

/// What torch 2.11 says of its own classes, beyond what stands in a pickle.
struct ModuleClass {
  std::string_view name;   ///< module and class
  int version = 1;         ///< `_version`, for `_metadata`
  bool own_state = false;  ///< it overrides state_dict(), or what state_dict() calls
};

/// Null for a class that is as torch.nn.Module in both, and for one of others.
const ModuleClass* find_module_class(std::string_view name);

}  // namespace ckpt
