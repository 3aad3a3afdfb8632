#include <string>
#include <string_view>
#include <vector>

#include "ckpt/modules.h"
#include "ckpt/state_dict.h"
#include "model/module_reader.h"
#include "model/walk.h"
#include "ops/module_walk.h"

namespace ckpt {

std::vector<Submodule> submodules(const Checkpoint& checkpoint, const Module& module) {
  ModuleWalk walk(checkpoint);
  if (!walk.parts(module.value).is_module()) return {{"", 0, module.value, module.class_name}};
  NameBudget names(checkpoint.file);
  std::vector<Submodule> found;
  const auto enter = [&](ValueId value, const std::string& path, std::size_t depth) {
    found.push_back({path, depth, value, class_name(checkpoint.values, value)});
    names.spend(path.size() + found.back().class_name.size());
  };
  walk.run(module.value, enter, [](const std::string&) {});
  return found;
}

ValueId module_attribute(const Checkpoint& checkpoint, ValueId module, std::string_view name) {
  const ValueGraph& values = checkpoint.values;
  ValueId found = no_value;
  for (auto handle = values.first_effect(module); handle != 0; handle = values.effect(handle).next) {
    if (values.effect(handle).kind != EffectKind::build) continue;
    for (const ValueId mapping : state_mappings(values, values.items(values.effect(handle))[0]))
      for (const MappingEntry& entry : mapping_entries(values, mapping))
        if (values.is_string(entry.key, name)) found = entry.value;
  }
  return found;
}

}  // namespace ckpt
