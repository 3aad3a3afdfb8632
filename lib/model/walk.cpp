#include "model/walk.h"

#include <unordered_set>

#include "ckpt/state_dict.h"
#include "model/calls.h"
#include "model/pair_lists.h"
#include "model/python_str.h"

namespace ckpt {
namespace {

struct Into {
  NamedChildren& children;
  NameBudget& budget;
};

void add_entry(const ValueGraph& values, ValueId key, ValueId value, Into& into) {
  if (values.is_string(key))
    into.children.add(values.text(key), value, into.budget);
  else
    into.children.add(python_str(values, key), value, into.budget);
}

void add_entries(const ValueGraph& values, ValueId mapping, Into& into) {
  const auto entries = mapping_entries(values, mapping);
  into.budget.spend_repeats(pair_count(values, mapping), entries.size());
  for (const MappingEntry& entry : entries) add_entry(values, entry.key, entry.value, into);
}

void add_positions(std::span<const ValueId> items, std::size_t& position, Into& into) {
  for (const ValueId item : items) into.children.add(std::to_string(position++), item, into.budget);
}

void add_state(const ValueGraph& values, ValueId state, std::unordered_set<ValueId>& seen, Into& into) {
  const auto mappings = state_mappings(values, state);
  for (const ValueId mapping : mappings)
    if (seen.insert(mapping).second) add_entries(values, mapping, into);
  if (mappings.empty()) into.children.add("state", state, into.budget);
}

/// What a call makes an object of. Said by a function of copyreg, as before protocols 2 and 4, NEWOBJ and NEWOBJ_EX are
/// the same: the class is its first argument.
struct Arguments {
  std::span<const ValueId> items;
  bool is_listed;  ///< each is one; else a tuple holds several, and a dict those with keywords
};

Arguments arguments_of(const ValueGraph& values, ValueId object) {
  const CallKind call = values.call(object);
  const auto [module, name] = callable(values, object);
  const bool is_new = call == CallKind::reduce && (module == "copyreg" || module == "copy_reg");
  const auto given = call_arguments(values, object);
  if (is_new && !given.empty() && name == "__newobj__") return {given.subspan(1), true};
  if (is_new && given.size() == 3 && name == "__newobj_ex__") return {given.subspan(1), false};
  return {values.items(object).subspan(1), call == CallKind::inst || call == CallKind::obj};
}

void add_arguments(const ValueGraph& values, ValueId object, std::size_t& position, Into& into) {
  if (const ValueId list = members_of_set_call(values, object); list != no_value) {
    add_positions(values.items(list), position, into);
    return add_positions(appended_to(values, list), position, into);
  }
  const auto [items, listed] = arguments_of(values, object);
  for (const ValueId item : items) {
    if (!listed && values.kind(item) == ValueKind::tuple)
      add_positions(values.items(item), position, into);
    else if (!listed && values.kind(item) == ValueKind::dict)
      add_entries(values, item, into);
    else
      into.children.add(std::to_string(position++), item, into.budget);
  }
}

}  // namespace

std::vector<ValueId> state_mappings(const ValueGraph& values, ValueId state) {
  if (is_mapping(values, state)) return {state};
  const auto items = values.items(state);
  if (values.kind(state) != ValueKind::tuple || items.size() != 2 || !is_mapping(values, items[1])) return {};
  if (is_mapping(values, items[0])) return {items[0], items[1]};
  if (values.kind(items[0]) == ValueKind::none) return {items[1]};
  return {};
}

std::vector<ValueId> appended_to(const ValueGraph& values, ValueId id) {
  std::vector<ValueId> appended;
  for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next) {
    const auto items = values.items(values.effect(handle));
    if (values.effect(handle).kind == EffectKind::append) appended.insert(appended.end(), items.begin(), items.end());
  }
  return appended;
}

NamedChildren named_children(const ValueGraph& values, ValueId id, NameBudget& budget) {
  NamedChildren children;
  Into into{children, budget};
  std::size_t position = 0;
  const ValueKind kind = values.kind(id);
  if (is_mapping(values, id))
    add_entries(values, id, into);
  else if (kind == ValueKind::object)
    add_arguments(values, id, position, into);
  else if (kind != ValueKind::persistent && kind != ValueKind::global)
    add_positions(values.items(id), position, into);
  const bool entries_are_in = is_mapping(values, id);
  std::unordered_set<ValueId> states;  // given again, a state says nothing new
  for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next) {
    const Effect& effect = values.effect(handle);
    const auto items = values.items(effect);
    const std::size_t before = states.size();
    switch (effect.kind) {
      case EffectKind::append:
      case EffectKind::add_items:
        add_positions(items, position, into);
        break;
      case EffectKind::set_items:
        for (std::size_t i = 0; !entries_are_in && i + 1 < items.size(); i += 2)
          add_entry(values, items[i], items[i + 1], into);
        break;
      case EffectKind::build:
        add_state(values, items[0], states, into);
        break;
    }
    // As a name, for it is looked at as often as the value is met.
    if (items.empty() || (effect.kind == EffectKind::build && states.size() == before)) budget.spend_repeats(1, 0);
  }
  return children;
}

}  // namespace ckpt
