#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "ckpt/state_dict.h"
#include "io/keyed_hash.h"

namespace ckpt {
namespace {

bool makes_mapping(std::string_view module, std::string_view name) {
  if (module == "collections" || module == "typing" || module == "UserList")
    return name == "OrderedDict" || name == "defaultdict" || name == "Counter";
  return (module == "builtins" || module == "__builtin__") && name == "dict";
}

/// The list of [key, value] pairs that Python 2 gives an OrderedDict as its only argument, or no_value.
ValueId pair_list(const ValueGraph& values, ValueId object) {
  if (values.call(object) != CallKind::reduce) return no_value;
  const ValueId arguments = values.items(object)[1];
  if (values.kind(arguments) != ValueKind::tuple || values.items(arguments).empty()) return no_value;
  const ValueId list = values.items(arguments)[0];
  return values.kind(list) == ValueKind::list ? list : no_value;
}

/// Collects entries. Unless all pairs are wanted, a key equal to an earlier one replaces its value and keeps its place.
class Collector {
 public:
  Collector(const ValueGraph& values, bool every_pair) : values_(values), every_pair_(every_pair) {}

  void add(const MappingEntry& entry) {
    const std::string_view key = every_pair_ ? std::string_view() : identity(entry.key);
    if (!key.empty()) {
      const auto [found, fresh] = places_.try_emplace(std::string(key), entries_.size());
      if (!fresh) {
        entries_[found->second] = entry;
        return;
      }
    }
    entries_.push_back(entry);
  }

  /// Pairs key, value, key, value … at `effect`, or in the items of `holder`.
  void add_pairs(std::span<const ValueId> items, std::uint32_t effect, ValueId holder) {
    for (std::uint32_t i = 0; i + 1 < items.size(); i += 2) add({items[i], items[i + 1], effect, holder, i});
  }

  std::vector<MappingEntry> take() { return std::move(entries_); }

 private:
  /// Equal for equal strings and equal integers; empty for keys that are compared in no other way than by identity.
  std::string_view identity(ValueId key) {
    buffer_.clear();
    switch (values_.kind(key)) {
      case ValueKind::str:
      case ValueKind::py2_str:
        buffer_ = "s";
        buffer_ += values_.text(key);
        break;
      case ValueKind::boolean:
      case ValueKind::integer:
        buffer_ = "i" + std::to_string(values_.integer(key));
        break;
      default:
        break;
    }
    return buffer_;
  }

  const ValueGraph& values_;
  bool every_pair_;
  std::vector<MappingEntry> entries_;
  std::unordered_map<std::string, std::size_t, KeyedHash> places_;
  std::string buffer_;
};

/// The items of a [key, value] list: made with it, or appended at once (by two APPENDs, as protocol 0 has it, they are
/// not recognised).
void add_python2_pair(const ValueGraph& values, ValueId pair, Collector& entries) {
  if (values.kind(pair) != ValueKind::list && values.kind(pair) != ValueKind::tuple) return;
  if (values.items(pair).size() == 2) return entries.add_pairs(values.items(pair), 0, pair);
  const auto handle = values.first_effect(pair);
  if (values.items(pair).empty() && handle != 0 && values.effect(handle).count == 2)
    entries.add_pairs(values.items(values.effect(handle)), handle, pair);
}

std::vector<MappingEntry> collect(const ValueGraph& values, ValueId mapping, bool every_pair) {
  Collector entries(values, every_pair);
  if (values.kind(mapping) == ValueKind::dict) {
    entries.add_pairs(values.items(mapping), 0, mapping);
  } else if (const ValueId list = pair_list(values, mapping); list != no_value) {
    for (const ValueId pair : values.items(list)) add_python2_pair(values, pair, entries);
    for (auto handle = values.first_effect(list); handle != 0; handle = values.effect(handle).next)
      for (const ValueId pair : values.items(values.effect(handle))) add_python2_pair(values, pair, entries);
  }
  for (auto handle = values.first_effect(mapping); handle != 0; handle = values.effect(handle).next)
    if (values.effect(handle).kind == EffectKind::set_items)
      entries.add_pairs(values.items(values.effect(handle)), handle, mapping);
  return entries.take();
}

}  // namespace

bool is_mapping(const ValueGraph& values, ValueId id) {
  if (values.kind(id) == ValueKind::dict) return true;
  if (values.kind(id) != ValueKind::object) return false;
  const ValueId callable = values.items(id)[0];
  return values.kind(callable) == ValueKind::global && makes_mapping(values.module(callable), values.name(callable));
}

std::vector<MappingEntry> mapping_entries(const ValueGraph& values, ValueId mapping) {
  return collect(values, mapping, false);
}

std::vector<MappingEntry> mapping_pairs(const ValueGraph& values, ValueId mapping) {
  return collect(values, mapping, true);
}

}  // namespace ckpt
