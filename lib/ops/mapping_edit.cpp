#include "ops/mapping_edit.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "model/pair_lists.h"

namespace ckpt {
namespace {

/// Python 2 keeps the pairs of an OrderedDict as lists of their own, in a list that is its only argument.
bool is_list_of_its_own(const ValueGraph& values, const MappingEntry& entry) {
  return values.kind(entry.holder) == ValueKind::list || values.kind(entry.holder) == ValueKind::tuple;
}

/// Rewrites the operands of a value and of its effects: `edit` gives those that replace them. 0 stands for the value's
/// own.
using EditOperands = std::function<std::vector<ValueId>(std::uint32_t effect, std::span<const ValueId> items)>;

void edit_operands(ValueGraph& values, ValueId id, const EditOperands& edit) {
  const auto differs = [](std::span<const ValueId> a, const std::vector<ValueId>& b) {
    return !std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  if (values.kind(id) != ValueKind::object) {
    const auto edited = edit(0, values.items(id));
    if (differs(values.items(id), edited)) values.set_items(id, edited);
  }
  for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next) {
    if (values.effect(handle).kind == EffectKind::build) continue;
    const auto edited = edit(handle, values.items(values.effect(handle)));
    if (differs(values.items(values.effect(handle)), edited)) values.set_effect_items(handle, edited);
  }
}

}  // namespace

std::vector<MappingEntry> keyed_pairs(const ValueGraph& values, ValueId holder) {
  if (is_mapping(values, holder)) return mapping_pairs(values, holder);
  std::vector<MappingEntry> pairs;
  for (auto handle = values.first_effect(holder); handle != 0; handle = values.effect(handle).next) {
    if (values.effect(handle).kind != EffectKind::set_items) continue;
    const auto items = values.items(values.effect(handle));
    for (std::uint32_t i = 0; i + 1 < items.size(); i += 2)
      pairs.push_back({items[i], items[i + 1], handle, holder, i});
  }
  return pairs;
}

std::vector<MappingEntry> pairs_to_remove(const ValueGraph& values, ValueId holder,
                                          const std::function<bool(const MappingEntry&)>& is_gone) {
  std::vector<MappingEntry> pairs = keyed_pairs(values, holder);
  if (std::none_of(pairs.begin(), pairs.end(), is_gone)) return {};
  std::set<decltype(place_of({}))> staying;
  for (const MappingEntry& entry : is_mapping(values, holder) ? mapping_entries(values, holder) : pairs)
    if (!is_gone(entry)) staying.insert(place_of(entry));
  std::erase_if(pairs, [&](const MappingEntry& pair) { return staying.contains(place_of(pair)); });
  return pairs;
}

void remove_pairs(ValueGraph& values, ValueId holder, const std::vector<MappingEntry>& pairs) {
  std::map<ValueId, std::set<std::pair<std::uint32_t, std::uint32_t>>> by_dict;  // the holder's, and one it was given
  std::unordered_set<ValueId> lists;
  for (const MappingEntry& pair : pairs) {
    if (is_list_of_its_own(values, pair))
      lists.insert(pair.holder);
    else
      by_dict[pair.holder].emplace(pair.effect, pair.index);
  }
  for (const auto& [dict, gone] : by_dict)
    edit_operands(values, dict, [&places = gone](std::uint32_t effect, std::span<const ValueId> items) {
      std::vector<ValueId> left;
      for (std::uint32_t i = 0; i < items.size(); ++i)
        if (!places.contains({effect, i / 2 * 2})) left.push_back(items[i]);
      return left;
    });
  if (!lists.empty())
    edit_operands(values, given_pairs(values, holder), [&](std::uint32_t, std::span<const ValueId> items) {
      std::vector<ValueId> left(items.begin(), items.end());
      std::erase_if(left, [&](ValueId item) { return lists.contains(item); });
      return left;
    });
}

void insert_pair_after(ValueGraph& values, ValueId mapping, const MappingEntry& entry, ValueId key, ValueId value) {
  if (is_list_of_its_own(values, entry)) {
    const ValueId pair = values.make_container(ValueKind::list);
    const ValueId both[] = {key, value};
    values.add_effect(pair, EffectKind::append, both);
    return edit_operands(values, given_pairs(values, mapping), [&](std::uint32_t, std::span<const ValueId> items) {
      std::vector<ValueId> more(items.begin(), items.end());
      const auto at = std::find(more.begin(), more.end(), entry.holder);
      if (at != more.end()) more.insert(at + 1, pair);
      return more;
    });
  }
  edit_operands(values, entry.holder, [&](std::uint32_t effect, std::span<const ValueId> items) {
    std::vector<ValueId> more(items.begin(), items.end());
    if (effect == entry.effect) more.insert(more.begin() + entry.index + 2, {key, value});
    return more;
  });
}

}  // namespace ckpt
