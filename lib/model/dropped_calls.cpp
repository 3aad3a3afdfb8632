#include "model/dropped_calls.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ckpt/state_dict.h"
#include "model/calls.h"

namespace ckpt {
namespace {

using namespace std::string_view_literals;

/// Whose results nothing can change: files share them among thousands of values.
bool makes_immutable(std::pair<std::string_view, std::string_view> called) {
  constexpr std::array names{"dtype"sv, "scalar"sv, "device"sv, "Size"sv, "encode"sv, "frozenset"sv, "complex"sv};
  const auto [module, name] = called;
  const bool known = module == "torch" || module == "_codecs" || module == "builtins" || module == "__builtin__" ||
                     module.starts_with("numpy");
  return known && std::ranges::find(names, name) != names.end();
}

/// Values that no call can leave a trace in, and tuples of such.
std::vector<bool> find_inert(const ValueGraph& values) {
  std::vector<bool> inert(values.size());
  for (ValueId id = 0; id < values.size(); ++id) {
    switch (values.kind(id)) {
      case ValueKind::bytearray:
      case ValueKind::list:
      case ValueKind::dict:
      case ValueKind::set:
      case ValueKind::persistent:
        break;
      case ValueKind::object:
        inert[id] = makes_immutable(callable(values, id));
        break;
      default:
        inert[id] = std::ranges::all_of(values.items(id), [&](ValueId item) { return item < id && inert[item]; });
    }
  }
  return inert;
}

/// A call that changes nothing but what it makes: of a container, or a tensor.
bool changes_nothing_else(const ValueGraph& values, ValueId object) {
  const auto [module, name] = callable(values, object);
  const bool makes_tensor = module == "torch._utils" && name.starts_with("_rebuild_");
  return makes_tensor || is_mapping(values, object) || members_of_set_call(values, object) != no_value;
}

}  // namespace

DroppedCalls::DroppedCalls(const ValueGraph& values, ValueId root, std::span<const ValueId> discarded) {
  if (discarded.empty()) return;
  std::vector<bool> seen(values.size());
  std::vector<ValueId> open;
  /// Whether something new below `id` is a call that may change more than it makes.
  const auto holds_call = [&](ValueId top) {
    bool found = false;
    for (open.assign(1, top); !open.empty();) {
      const ValueId id = open.back();
      open.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      found = found || (values.kind(id) == ValueKind::object && !changes_nothing_else(values, id));
      values.each_operand(id, [&](ValueId item) { open.push_back(item); });
    }
    return found;
  };
  holds_call(root);
  std::ranges::copy_if(discarded, std::back_inserter(discarded_), holds_call);
  if (discarded_.empty()) return;
  owner_.assign(values.size(), no_group);
  const std::vector<bool> inert = find_inert(values);
  for (const ValueId id : discarded_) add(values, id, inert);
  groups_.resize(discarded_.size());
  for (std::uint32_t i = 0; i < joined_.size(); ++i) groups_[group_of(i)].push_back(i);
  for (std::uint32_t& owner : owner_)
    if (owner != no_group) owner = group_of(owner);
}

/// Marks what it leads to, up to what one of its group has marked.
void DroppedCalls::add(const ValueGraph& values, ValueId dropped, const std::vector<bool>& inert) {
  const auto place = static_cast<std::uint32_t>(joined_.size());
  joined_.push_back(place);
  std::vector<ValueId> open{dropped};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (inert[id] || owner_[id] == place) continue;
    if (owner_[id] != no_group) {
      joined_[group_of(owner_[id])] = group_of(place);
      continue;
    }
    owner_[id] = place;
    values.each_operand(id, [&](ValueId item) { open.push_back(item); });
  }
}

std::uint32_t DroppedCalls::group_of(std::uint32_t dropped) {
  while (joined_[dropped] != dropped) dropped = joined_[dropped] = joined_[joined_[dropped]];
  return dropped;
}

std::vector<ValueId> DroppedCalls::that_change(std::span<const ValueId> held) const {
  if (discarded_.empty()) return {};
  std::vector<std::uint32_t> found;
  for (const ValueId id : held)
    if (owner_[id] != no_group) found.push_back(owner_[id]);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<std::uint32_t> places;
  for (const std::uint32_t group : found) places.insert(places.end(), groups_[group].begin(), groups_[group].end());
  std::ranges::sort(places);
  std::vector<ValueId> calls;
  for (const std::uint32_t place : places) calls.push_back(discarded_[place]);
  return calls;
}

}  // namespace ckpt
