#include "ops/prune.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/dropped_calls.h"
#include "model/each_tensor.h"
#include "model/graph_copy.h"
#include "model/making_order.h"
#include "model/rooted.h"

namespace ckpt {
namespace {

/// As ValueGraph::reserve_for() counts.
constexpr std::size_t pickle_bytes_a_value = 12;

/// The names that the values in `among` (empty: all) stand for.
std::set<std::pair<std::string, std::string>> global_names(const ValueGraph& values, const std::vector<bool>& among) {
  std::set<std::pair<std::string, std::string>> names;
  for (ValueId id = 0; id < values.size(); ++id) {
    if (!among.empty() && !among[id]) continue;
    if (values.kind(id) == ValueKind::global) names.emplace(values.module(id), values.name(id));
    if (values.kind(id) == ValueKind::extension) names.emplace("copyreg.extension", std::to_string(values.integer(id)));
  }
  return names;
}

class Pruner {
 public:
  explicit Pruner(Checkpoint checkpoint)
      : checkpoint_(std::move(checkpoint)),
        values_(std::exchange(checkpoint_.values, {})),
        stays_(values_.size()),
        moved_(values_.size()) {}

  Checkpoint run() {
    checkpoint_.discarded = mark_held(values_, checkpoint_.root, checkpoint_.discarded, stays_);
    keep_globals();
    ValueId next = 0;
    for (ValueId id = 0; id < values_.size(); ++id)
      if (stays_[id]) moved_[id] = next++;
    std::erase_if(checkpoint_.tensors, [&](const Tensor& tensor) { return !stays_[tensor.value]; });
    move_storages();
    copy_values();
    values_ = ValueGraph();  // as much again as what was copied
    each_tensor(checkpoint_.tensors, [&](Tensor& tensor) { move_tensor(tensor); });
    checkpoint_.root = moved_[checkpoint_.root];
    for (ValueId& id : checkpoint_.discarded) id = moved_[id];
    return std::move(checkpoint_);
  }

 private:
  /// A name goes with its last value. (A name that no value of the graph has comes from elsewhere in the file.)
  void keep_globals() {
    const auto before = global_names(values_, {});
    const auto after = global_names(values_, stays_);
    std::set<std::pair<std::string, std::string>> gone;
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::inserter(gone, gone.end()));
    // Once only: the object's names come first, and a second one is that of a pickle around it.
    std::erase_if(checkpoint_.globals, [&](const GlobalUse& global) {
      return gone.erase({global.module, global.name}) != 0;
    });
  }

  void copy_values() {
    const std::optional<MakingOrder> order =
        checkpoint_.discarded.empty() ? making_order(values_, checkpoint_.root) : std::nullopt;
    ValueGraph& result = checkpoint_.values;
    result.reserve_for(values_.size() * pickle_bytes_a_value);
    std::vector<std::pair<std::uint32_t, ValueId>> effects;
    for (ValueId id = 0; id < values_.size(); ++id) {
      if (!stays_[id]) continue;
      const ValueId copy = copy_value(values_, id, result, moved_);
      result.set_form(copy, values_.form(id));
      result.set_made(copy, order ? order->values[id] : values_.made(id));
      if (values_.memoized(id)) result.set_memoized(copy);
      for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next)
        effects.emplace_back(handle, copy);
    }
    std::sort(effects.begin(), effects.end());
    for (const auto& [handle, target] : effects) {
      const Effect& effect = values_.effect(handle);
      if (effect.count == 0) continue;
      result.add_effect(target, effect.kind, moved(values_.items(effect)), effect.form,
                        order ? order->effects.at(handle) : effect.time, effect.late);
    }
  }

  std::span<const ValueId> moved(std::span<const ValueId> items) {
    operands_.clear();
    for (const ValueId item : items) operands_.push_back(moved_[item]);
    return operands_;
  }

  void move_storages() {
    std::vector<bool> used(checkpoint_.storages.size());
    auto& uses = checkpoint_.storage_uses;
    std::erase_if(uses, [&](const auto& use) { return !stays_[use.first]; });
    for (auto& [id, use] : uses) {
      used[use.storage] = true;
      id = moved_[id];
    }
    each_tensor(checkpoint_.tensors, [&](const Tensor& tensor) {
      if (tensor.storage) used[*tensor.storage] = true;
    });
    std::vector<Storage> storages;
    storages.reserve(static_cast<std::size_t>(std::count(used.begin(), used.end(), true)));
    place_.resize(used.size());
    for (std::size_t i = 0; i < used.size(); ++i) {
      place_[i] = static_cast<std::uint32_t>(storages.size());
      if (used[i]) storages.push_back(std::move(checkpoint_.storages[i]));
    }
    for (auto& [id, use] : uses) use.storage = place_[use.storage];
    std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    checkpoint_.storages = std::move(storages);
  }

  void move_tensor(Tensor& tensor) const {
    tensor.value = moved_[tensor.value];
    if (tensor.storage) tensor.storage = place_[*tensor.storage];
    if (tensor.device_holder != no_value) tensor.device_holder = moved_[tensor.device_holder];
  }

  Checkpoint checkpoint_;  ///< without its values
  ValueGraph values_;
  std::vector<bool> stays_;
  std::vector<ValueId> moved_;        ///< each value's new id
  std::vector<std::uint32_t> place_;  ///< each storage's new index
  std::vector<ValueId> operands_;
};

}  // namespace

void mark_reached(const ValueGraph& values, ValueId root, std::vector<bool>& reached) {
  std::vector<ValueId> open;
  const auto reach = [&](ValueId id) {
    if (reached[id]) return;
    reached[id] = true;
    open.push_back(id);
  };
  reach(root);
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    values.each_operand(id, reach);
  }
}

std::vector<ValueId> mark_held(const ValueGraph& values, ValueId root, std::span<const ValueId> discarded,
                               std::vector<bool>& held) {
  mark_reached(values, root, held);
  if (discarded.empty()) return {};
  std::vector<ValueId> ids;
  for (ValueId id = 0; id < held.size(); ++id)
    if (held[id]) ids.push_back(id);
  std::vector<ValueId> calls = DroppedCalls(values, root, discarded).that_change(ids);
  for (const ValueId id : calls) mark_reached(values, id, held);
  return calls;
}

Checkpoint prune(Checkpoint checkpoint) {
  require_root(checkpoint);
  return Pruner(std::move(checkpoint)).run();
}

}  // namespace ckpt
