#include "ops/drop_values.h"

#include <algorithm>
#include <utility>

#include "ckpt/state_dict.h"
#include "ops/mapping_edit.h"
#include "ops/prune.h"

namespace ckpt {
namespace {

/// Calls `use` with what a call is given: the arguments themselves, whatever holds them.
template <class Use>
void each_argument(const ValueGraph& values, ValueId object, Use use) {
  for (const ValueId item : values.items(object)) {
    use(item);
    if (values.kind(item) == ValueKind::tuple)
      for (const ValueId argument : values.items(item)) use(argument);
  }
}

/// A call without one of its arguments would be another, and mostly one that fails. Operands are older than the calls
/// that take them.
void spread_to_calls(const ValueGraph& values, std::vector<bool>& gone) {
  for (ValueId id = 0; id < values.size(); ++id) {
    if (values.kind(id) != ValueKind::object || is_mapping(values, id)) continue;
    each_argument(values, id, [&](ValueId argument) {
      if (gone[argument]) gone[id] = true;
    });
  }
}

void remove_entries(ValueGraph& values, const std::vector<bool>& gone) {
  for (ValueId id = 0; id < values.size(); ++id) {
    if (gone[id] || (values.kind(id) != ValueKind::dict && values.kind(id) != ValueKind::object)) continue;
    std::vector<MappingEntry> pairs = keyed_pairs(values, id);
    std::erase_if(pairs, [&](const MappingEntry& pair) { return !gone[pair.value]; });
    if (!pairs.empty()) remove_pairs(values, id, pairs);
  }
}

}  // namespace

Dropped drop_values(Checkpoint checkpoint, std::vector<bool> gone) {
  ValueGraph& values = checkpoint.values;
  const auto count = static_cast<ValueId>(values.size());
  gone.resize(count);
  spread_to_calls(values, gone);
  remove_entries(values, gone);
  std::vector<bool> replaced(count);
  const ValueId none = values.make_none();
  const auto is_gone = [&](ValueId id) {
    if (id >= count || !gone[id]) return false;
    replaced[id] = true;
    return true;
  };
  for (ValueId id = 0; id < count; ++id) {
    if (gone[id]) continue;
    for (std::size_t i = 0; i < values.items(id).size(); ++i)
      if (is_gone(values.items(id)[i])) values.set_item(id, i, none);
    for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next)
      for (std::size_t i = 0; i < values.effect(handle).count; ++i)
        if (is_gone(values.items(values.effect(handle))[i])) values.set_effect_item(handle, i, none);
  }
  std::erase_if(checkpoint.discarded, [&](ValueId id) { return gone[id]; });
  return {prune(std::move(checkpoint)), std::move(gone), std::move(replaced)};
}

}  // namespace ckpt
