#include <string_view>
#include <unordered_map>
#include <vector>

#include "ckpt/state_dict.h"
#include "model/calls.h"
#include "model/pair_lists.h"
#include "model/position_index.h"

namespace ckpt {
namespace {

bool makes_mapping(std::string_view module, std::string_view name) {
  if (module == "collections" || module == "typing" || module == "UserList")
    return name == "OrderedDict" || name == "defaultdict" || name == "Counter";
  return (module == "builtins" || module == "__builtin__") && name == "dict";
}

/// Collects entries. Unless all pairs are wanted, a key equal to an earlier one replaces its value and keeps its place.
class Collector {
 public:
  Collector(const ValueGraph& values, bool every_pair) : values_(values), every_pair_(every_pair) {}

  void reserve(std::size_t pairs) {
    entries_.reserve(pairs);
    if (!every_pair_) places_.reserve(pairs);
  }

  void add(const MappingEntry& entry) {
    const std::uint32_t place = every_pair_ ? PositionIndex::nowhere : find_or_add(entry.key);
    if (place < entries_.size())
      entries_[place] = entry;
    else
      entries_.push_back(entry);
  }

  /// Pairs key, value, key, value … at `effect`, or in the items of `holder`.
  void add_pairs(std::span<const ValueId> items, std::uint32_t effect, ValueId holder) {
    for (std::uint32_t i = 0; i + 1 < items.size(); i += 2) add({items[i], items[i + 1], effect, holder, i});
  }

  std::vector<MappingEntry> take() { return std::move(entries_); }

 private:
  /// The place of the entry with an equal string or an equal integer for a key, or with the same value of another kind;
  /// past the end where there is none.
  std::uint32_t find_or_add(ValueId key) {
    const auto next = static_cast<std::uint32_t>(entries_.size());
    if (values_.is_string(key)) {
      const std::string_view text = values_.text(key);
      return places_.add(hash_of(text), next,
                         [&](std::uint32_t other) { return values_.is_string(entries_[other].key, text); });
    }
    if (!is_integer(key))
      return places_.add(hash_of_number(key), next, [&](std::uint32_t other) { return entries_[other].key == key; });
    const std::int64_t number = values_.integer(key);
    return places_.add(hash_of_number(number), next, [&](std::uint32_t other) {
      return is_integer(entries_[other].key) && values_.integer(entries_[other].key) == number;
    });
  }

  template <class Number>
  static std::uint64_t hash_of_number(Number number) {
    return hash_of(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
  }

  /// True and 1 are one key to Python.
  [[nodiscard]] bool is_integer(ValueId key) const {
    return values_.kind(key) == ValueKind::integer || values_.kind(key) == ValueKind::boolean;
  }

  const ValueGraph& values_;
  bool every_pair_;
  std::vector<MappingEntry> entries_;
  PositionIndex places_;
};

/// The effect at `handle`, if there is one before `until`, a time; 0 is none.
std::uint32_t before(const ValueGraph& values, std::uint32_t handle, Time until) {
  return handle != 0 && (until == 0 || values.effect(handle).time < until) ? handle : 0;
}

/// The items of a [key, value] list: made with it, or appended at once, or one by one as protocol 0 has it.
void add_python2_pair(const ValueGraph& values, ValueId pair, Collector& entries, Time until) {
  if (values.kind(pair) != ValueKind::list && values.kind(pair) != ValueKind::tuple) return;
  const auto first = before(values, values.first_effect(pair), until);
  if (values.items(pair).size() == 2 && first == 0) return entries.add_pairs(values.items(pair), 0, pair);
  if (!values.items(pair).empty() || first == 0) return;
  const auto items = values.items(values.effect(first));
  const auto second = before(values, values.effect(first).next, until);
  if (items.size() == 2 && second == 0) return entries.add_pairs(items, first, pair);
  if (items.size() != 1 || second == 0 || values.effect(second).count != 1) return;
  if (before(values, values.effect(second).next, until) != 0) return;
  entries.add({items[0], values.items(values.effect(second))[0], first, pair, 0, second});
}

/// What a list has, `until` a time. Returns how many items those are.
std::size_t add_python2_pairs(const ValueGraph& values, ValueId list, Collector& entries, Time until) {
  std::size_t count = 0;
  const auto add = [&](std::span<const ValueId> pairs) {
    for (const ValueId pair : pairs) add_python2_pair(values, pair, entries, until);
    count += pairs.size();
  };
  add(values.items(list));
  for (auto handle = values.first_effect(list); (handle = before(values, handle, until)) != 0;
       handle = values.effect(handle).next)
    add(values.items(values.effect(handle)));
  return count;
}

/// What a dict is made with, and what it or a call's mapping is given afterwards, `until` a time.
void add_own_pairs(const ValueGraph& values, ValueId mapping, Collector& entries, Time until = 0) {
  if (values.kind(mapping) == ValueKind::dict) entries.add_pairs(values.items(mapping), 0, mapping);
  for (auto handle = values.first_effect(mapping); (handle = before(values, handle, until)) != 0;
       handle = values.effect(handle).next)
    if (values.effect(handle).kind == EffectKind::set_items)
      entries.add_pairs(values.items(values.effect(handle)), handle, mapping);
}

std::vector<MappingEntry> collect(const ValueGraph& values, ValueId mapping, bool every_pair) {
  Collector entries(values, every_pair);
  entries.reserve(static_cast<std::size_t>(pair_count(values, mapping)));
  if (const ValueId given = given_pairs(values, mapping); given != no_value) {
    if (values.kind(given) == ValueKind::dict)
      add_own_pairs(values, given, entries, values.made(mapping));
    else
      add_python2_pairs(values, given, entries, values.made(mapping));
  }
  add_own_pairs(values, mapping, entries);
  return entries.take();
}

std::uint64_t own_pair_count(const ValueGraph& values, ValueId mapping) {
  std::uint64_t pairs = values.kind(mapping) == ValueKind::dict ? values.items(mapping).size() / 2 : 0;
  for (auto handle = values.first_effect(mapping); handle != 0; handle = values.effect(handle).next)
    if (values.effect(handle).kind == EffectKind::set_items) pairs += values.effect(handle).count / 2;
  return pairs;
}

}  // namespace

bool is_mapping(const ValueGraph& values, ValueId id) {
  if (values.kind(id) == ValueKind::dict) return true;
  if (values.kind(id) != ValueKind::object) return false;
  const ValueId callable = values.items(id)[0];
  return values.kind(callable) == ValueKind::global && makes_mapping(values.module(callable), values.name(callable));
}

ValueId given_pairs(const ValueGraph& values, ValueId mapping) {
  if (values.kind(mapping) != ValueKind::object || !is_mapping(values, mapping)) return no_value;
  const CallKind call = values.call(mapping);
  if (call != CallKind::reduce && call != CallKind::inst && call != CallKind::obj) return no_value;
  const std::string_view name = callable(values, mapping).second;
  const auto arguments = call_arguments(values, mapping);
  const std::size_t place = name == "defaultdict" ? 1 : 0;  // behind what makes its values
  if (arguments.size() <= place) return no_value;
  const ValueKind kind = values.kind(arguments[place]);
  const bool is_list_of_pairs = kind == ValueKind::list && name != "Counter";  // which would count them
  return kind == ValueKind::dict || is_list_of_pairs ? arguments[place] : no_value;
}

bool lists_pairs(const ValueGraph& values, ValueId list, Time until) {
  Collector entries(values, true);
  const std::size_t count = add_python2_pairs(values, list, entries, until);
  return entries.take().size() == count;
}

bool shows_all_pairs(const ValueGraph& values, ValueId mapping) {
  if (!is_mapping(values, mapping)) return false;
  if (values.kind(mapping) != ValueKind::object) return true;
  const ValueId given = given_pairs(values, mapping);
  if (given != no_value && values.kind(given) == ValueKind::list && !lists_pairs(values, given, values.made(mapping)))
    return false;
  const bool has_factory = callable(values, mapping).second == "defaultdict";
  const auto arguments = call_arguments(values, mapping);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i] != given && !(has_factory && i == 0)) return false;
  return true;
}

std::uint64_t pair_count(const ValueGraph& values, ValueId mapping) {
  const ValueId given = given_pairs(values, mapping);
  return own_pair_count(values, mapping) + (given == no_value ? 0 : own_pair_count(values, given));
}

std::uint64_t pairs_given(const ValueGraph& values, ValueId first) {
  std::unordered_map<ValueId, std::uint64_t> sizes;
  std::uint64_t pairs = 0;
  for (ValueId id = first; id < values.size(); ++id) {
    const ValueId given = given_pairs(values, id);
    if (given == no_value) continue;
    const auto [known, fresh] = sizes.try_emplace(given, 0);
    std::uint64_t& size = known->second;
    if (fresh) values.each_operand(given, [&](ValueId) { ++size; });
    pairs += size;
  }
  return pairs;
}

std::vector<MappingEntry> mapping_entries(const ValueGraph& values, ValueId mapping) {
  return collect(values, mapping, false);
}

std::vector<MappingEntry> mapping_pairs(const ValueGraph& values, ValueId mapping) {
  return collect(values, mapping, true);
}

}  // namespace ckpt
