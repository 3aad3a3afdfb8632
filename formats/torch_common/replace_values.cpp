#include "torch_common/replace_values.h"

namespace ckpt::torch {

void replace_values(ValueGraph& values, const std::unordered_map<ValueId, ValueId>& by) {
  if (by.empty()) return;
  const auto count = static_cast<ValueId>(values.size());
  for (ValueId id = 0; id < count; ++id) {
    for (std::size_t i = 0; i < values.items(id).size(); ++i)
      if (const auto found = by.find(values.items(id)[i]); found != by.end()) values.set_item(id, i, found->second);
    for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next)
      for (std::size_t i = 0; i < values.effect(handle).count; ++i)
        if (const auto found = by.find(values.items(values.effect(handle))[i]); found != by.end())
          values.set_effect_item(handle, i, found->second);
  }
}

void replace_values(Checkpoint& checkpoint, const std::unordered_map<ValueId, ValueId>& by) {
  replace_values(checkpoint.values, by);
  const auto replaced = [&](ValueId& id) {
    if (const auto found = by.find(id); found != by.end()) id = found->second;
  };
  replaced(checkpoint.root);
  for (ValueId& id : checkpoint.discarded) replaced(id);
}

}  // namespace ckpt::torch
