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

/// What would be made otherwise without what is gone, and mostly fail: a call without one of its arguments, however
/// deep in tuples and dicts, and an object that is given a state without one of its parts, which its class looks at.
/// Of attributes, none is looked at: a mapping of them loses an entry.
class CallsWithout {
 public:
  CallsWithout(const ValueGraph& values, std::vector<bool>& gone) : values_(values), gone_(gone) {}

  /// Operands are older than the values that hold them, and states than what is made of an object that has been given
  /// its own.
  void spread() {
    const std::vector<std::pair<ValueId, ValueId>> states = states_and_objects();
    auto state = states.begin();
    for (ValueId id = 0; id < gone_.size(); ++id) {
      if (values_.kind(id) == ValueKind::tuple) look_at_tuple(id);
      if (values_.kind(id) == ValueKind::object)
        gone_[id] = gone_[id] || (is_mapping(values_, id) ? is_made_of(gone_, values_, id) : is_given_less(id));
      for (; state != states.end() && state->first == id; ++state)
        if (gone_[id] || lacks_[id]) gone_[state->second] = true;
    }
  }

 private:
  std::vector<std::pair<ValueId, ValueId>> states_and_objects() const {
    std::vector<std::pair<ValueId, ValueId>> states;
    for (ValueId id = 0; id < gone_.size(); ++id) {
      if (values_.kind(id) != ValueKind::object || is_mapping(values_, id)) continue;
      for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next) {
        const Effect& effect = values_.effect(handle);
        if (effect.kind == EffectKind::build) states.emplace_back(values_.items(effect)[0], id);
      }
    }
    std::sort(states.begin(), states.end());
    return states;
  }

  void look_at_tuple(ValueId id) {
    for (const ValueId item : values_.items(id)) {
      lacks_[id] = lacks_[id] || gone_[item] || lacks_[item];
      dict_lacks_[id] = dict_lacks_[id] || holds_less(item);
    }
  }

  /// A dict without one of its values, or a tuple that has such a dict.
  bool holds_less(ValueId id) {
    if (values_.kind(id) != ValueKind::dict || seen_[id]) return dict_lacks_[id];
    seen_[id] = true;
    for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next)
      for (const ValueId item : values_.items(values_.effect(handle)))
        dict_lacks_[id] = dict_lacks_[id] || gone_[item] || lacks_[item];
    return dict_lacks_[id];
  }

  bool is_given_less(ValueId object) {
    for (const ValueId item : values_.items(object))
      if (gone_[item] || lacks_[item]) return true;
    const auto [module, name] = callable(values_, object);
    const auto arguments = call_arguments(values_, object);
    // The last one of these is a mapping of attributes.
    const bool sets_attributes = is_rebuild_from_type(module, name) || name == "_rebuild_parameter_with_state";
    const auto looked_at = sets_attributes && !arguments.empty() ? arguments.first(arguments.size() - 1) : arguments;
    return std::any_of(looked_at.begin(), looked_at.end(), [&](ValueId argument) { return holds_less(argument); });
  }

  const ValueGraph& values_;
  std::vector<bool>& gone_;
  std::vector<bool> lacks_ = std::vector<bool>(gone_.size());       ///< tuples
  std::vector<bool> dict_lacks_ = std::vector<bool>(gone_.size());  ///< dicts, and tuples that have one
  std::vector<bool> seen_ = std::vector<bool>(gone_.size());        ///< dicts
};

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
  CallsWithout(values, gone).spread();
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
