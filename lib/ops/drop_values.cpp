#include "ops/drop_values.h"

#include <algorithm>
#include <utility>

#include "ckpt/state_dict.h"
#include "model/calls.h"
#include "model/replace_operands.h"
#include "ops/mapping_edit.h"
#include "ops/prune.h"

namespace ckpt {
namespace {

/// Whether a call that makes a mapping is given something that is gone. Its entries may lie in what it is given, and go
/// one by one; a defaultdict without its factory is still one.
bool is_made_of(const std::vector<bool>& gone, const ValueGraph& values, ValueId mapping) {
  const auto is_gone = [&](ValueId id) { return gone[id]; };
  const auto items = values.items(mapping);
  if (std::any_of(items.begin(), items.end(), is_gone)) return true;
  auto arguments = call_arguments(values, mapping);
  if (callable(values, mapping).second == "defaultdict" && !arguments.empty()) arguments = arguments.subspan(1);
  return std::any_of(arguments.begin(), arguments.end(), is_gone);
}

/// A call without one of its arguments, however deep in tuples, would be another, and mostly one that fails. Operands
/// are older than the values that hold them.
void spread_to_calls(const ValueGraph& values, std::vector<bool>& gone) {
  std::vector<bool> lacks(gone.size());  // tuples
  for (ValueId id = 0; id < gone.size(); ++id) {
    const std::span<const ValueId> items = values.items(id);
    const bool lacks_any =
        std::any_of(items.begin(), items.end(), [&](ValueId item) { return gone[item] || lacks[item]; });
    if (values.kind(id) == ValueKind::tuple) lacks[id] = lacks_any;
    if (values.kind(id) == ValueKind::object && (is_mapping(values, id) ? is_made_of(gone, values, id) : lacks_any))
      gone[id] = true;
  }
}

/// Sets `removed` of the values whose entries go.
void remove_entries(ValueGraph& values, const std::vector<bool>& gone, std::vector<bool>& removed) {
  for (ValueId id = 0; id < values.size(); ++id) {
    if (gone[id] || (values.kind(id) != ValueKind::dict && values.kind(id) != ValueKind::object)) continue;
    const auto pairs = pairs_to_remove(values, id, [&](const MappingEntry& pair) { return gone[pair.value]; });
    if (!pairs.empty()) remove_pairs(values, id, pairs);
    for (const MappingEntry& pair : pairs)
      if (gone[pair.value]) removed[pair.value] = true;
  }
}

}  // namespace

Dropped drop_values(Checkpoint checkpoint, std::vector<bool> gone) {
  ValueGraph& values = checkpoint.values;
  const auto count = static_cast<ValueId>(values.size());
  gone.resize(count);
  spread_to_calls(values, gone);
  if (gone[checkpoint.root]) {
    checkpoint.root = no_value;
    return {std::move(checkpoint), std::vector<bool>(count), std::vector<bool>(count), {}};
  }
  std::vector<bool> replaced(count), removed(count);
  remove_entries(values, gone, removed);
  // What only a call that goes was given goes with it. (No way leads on from what is marked already.)
  std::vector<bool> reached = gone;
  mark_reached(values, checkpoint.root, reached);
  const ValueId none = values.make_none();
  for (ValueId id = 0; id < count; ++id) {
    if (gone[id]) continue;
    replace_operands(values, id, [&](ValueId item) {
      if (item >= count || !gone[item]) return item;
      if (reached[id]) replaced[item] = true;
      return none;
    });
  }
  std::erase_if(checkpoint.discarded, [&](ValueId id) { return gone[id]; });
  std::unordered_map<ValueId, std::vector<std::string>> names;
  for (NamedTensor& named : tensor_names(checkpoint))
    if (!gone[named.tensor->value]) names[named.tensor->value].push_back(std::move(named.name));
  return {prune(std::move(checkpoint)), std::move(replaced), std::move(removed), std::move(names)};
}

}  // namespace ckpt
