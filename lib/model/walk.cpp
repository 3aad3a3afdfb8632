#include "model/walk.h"

#include <unordered_set>

#include "ckpt/state_dict.h"
#include "model/python_str.h"

namespace ckpt {
namespace {

void add_entry(const ValueGraph& values, ValueId key, ValueId value, NamedChildren& children) {
  if (values.is_string(key))
    children.add(values.text(key), value);
  else
    children.add(python_str(values, key), value);
}

void add_entries(const ValueGraph& values, ValueId mapping, NamedChildren& children) {
  for (const MappingEntry& entry : mapping_entries(values, mapping))
    add_entry(values, entry.key, entry.value, children);
}

void add_positions(std::span<const ValueId> items, std::size_t& position, NamedChildren& children) {
  for (const ValueId item : items) children.add(std::to_string(position++), item);
}

/// The state given to BUILD: a dict of attributes, or (dict or None, dict of slots), as copyreg's protocol has it.
void add_state(const ValueGraph& values, ValueId state, std::unordered_set<ValueId>& seen, NamedChildren& children) {
  const auto add_once = [&](ValueId mapping) {
    if (seen.insert(mapping).second) add_entries(values, mapping, children);
  };
  if (is_mapping(values, state)) return add_once(state);
  const auto items = values.items(state);
  if (values.kind(state) == ValueKind::tuple && items.size() == 2 && is_mapping(values, items[1])) {
    if (is_mapping(values, items[0])) add_once(items[0]);
    return add_once(items[1]);
  }
  children.add("state", state);
}

void add_arguments(const ValueGraph& values, ValueId object, std::size_t& position, NamedChildren& children) {
  const auto items = values.items(object).subspan(1);
  const bool listed = values.call(object) == CallKind::inst || values.call(object) == CallKind::obj;
  for (const ValueId item : items) {
    if (!listed && values.kind(item) == ValueKind::tuple)
      add_positions(values.items(item), position, children);
    else if (!listed && values.kind(item) == ValueKind::dict)
      add_entries(values, item, children);
    else
      children.add(std::to_string(position++), item);
  }
}

}  // namespace

NamedChildren named_children(const ValueGraph& values, ValueId id) {
  NamedChildren children;
  std::size_t position = 0;
  const ValueKind kind = values.kind(id);
  if (is_mapping(values, id))
    add_entries(values, id, children);
  else if (kind == ValueKind::object)
    add_arguments(values, id, position, children);
  else if (kind != ValueKind::persistent && kind != ValueKind::global)
    add_positions(values.items(id), position, children);
  const bool entries_are_in = is_mapping(values, id);
  std::unordered_set<ValueId> states;  // given again, a state says nothing new
  for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next) {
    const Effect& effect = values.effect(handle);
    const auto items = values.items(effect);
    switch (effect.kind) {
      case EffectKind::append:
      case EffectKind::add_items:
        add_positions(items, position, children);
        break;
      case EffectKind::set_items:
        for (std::size_t i = 0; !entries_are_in && i + 1 < items.size(); i += 2)
          add_entry(values, items[i], items[i + 1], children);
        break;
      case EffectKind::build:
        add_state(values, items[0], states, children);
        break;
    }
  }
  return children;
}

}  // namespace ckpt
