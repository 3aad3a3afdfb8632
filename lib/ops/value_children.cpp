#include "ops/value_children.h"

#include <utility>

#include "ckpt/state_dict.h"
#include "model/python_str.h"
#include "model/walk.h"

namespace ckpt {
namespace {

/// A letter for each kind of key whose text says all of it; 0 for others.
char plain_key(ValueKind kind) {
  switch (kind) {
    case ValueKind::none:
      return 'n';
    case ValueKind::boolean:
      return 'b';
    case ValueKind::integer:
      return 'i';
    case ValueKind::real:
      return 'f';
    case ValueKind::str:
    case ValueKind::py2_str:
      return 's';
    default:
      return 0;
  }
}

}  // namespace

void ChildCollector::add_positions(std::span<const ValueId> items) {
  std::size_t position = 0;
  for (const ViewChild& child : children_)  // they go on after a call's arguments, as in the names of tensors
    position += child.match.front() == 'p' || child.match.front() == 'r' ? 1U : 0U;
  children_.reserve(children_.size() + items.size());
  for (const ValueId item : items) add("p", std::to_string(position++), item);
}

void ChildCollector::add_arguments(std::span<const ValueId> items) {
  for (std::size_t i = 0; i < items.size(); ++i) add("r", std::to_string(i), items[i]);
}

void ChildCollector::add_members(std::span<const ValueId> items) {
  for (const ValueId item : items) add_entry("k", item, item);
}

void ChildCollector::add_mapping(ValueId mapping) { add_entries("k", mapping); }

void ChildCollector::add_entry(const std::string& kind, ValueId key, ValueId value) {
  std::string label = python_str(values_, key);
  const char letter = plain_key(values_.kind(key));
  std::string match = kind + (letter == 0 ? 'o' : letter) + label;
  // Keys of other kinds that print alike are told apart by their order, and compared as values too.
  if (letter == 0)
    if (const std::size_t count = repeated_[match]++; count > 0) match += "#" + std::to_string(count);
  const auto [found, fresh] = named_.try_emplace(match, children_.size());
  if (fresh)
    children_.push_back({std::move(match), std::move(label), value, letter == 0 ? key : no_value});
  else
    children_[found->second].value = value;
}

void ChildCollector::add_entries(const std::string& kind, ValueId mapping) {
  for (const MappingEntry& entry : mapping_entries(values_, mapping)) add_entry(kind, entry.key, entry.value);
}

void ChildCollector::add_state(ValueId state) {
  const auto mappings = state_mappings(values_, state);
  // A class that sets its state itself may tell a mapping of attributes from one of slots.
  for (std::size_t i = 0; i < mappings.size(); ++i) add_entries(i == 0 ? "w" : "v", mappings[i]);
  if (!mappings.empty()) return;
  const std::size_t number = states_++;
  add("s", number == 0 ? "state" : "state#" + std::to_string(number), state);
}

void ChildCollector::add_effects(ValueId id, bool keys_are_in) {
  for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next) {
    const Effect& effect = values_.effect(handle);
    const auto items = values_.items(effect);
    switch (effect.kind) {
      case EffectKind::append:
        break;
      case EffectKind::add_items:
        add_members(items);
        break;
      case EffectKind::set_items:
        for (std::size_t i = 0; !keys_are_in && i + 1 < items.size(); i += 2) add_entry("k", items[i], items[i + 1]);
        break;
      case EffectKind::build:
        add_state(items[0]);
        break;
    }
  }
  const auto appended = appended_to(values_, id);
  if (!appended.empty()) add_positions(appended);
}

}  // namespace ckpt
