#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ckpt/state_dict.h"
#include "ckpt/tensor_ops.h"
#include "model/find_entry.h"
#include "ops/prune.h"
#include "ops/tensor_edit.h"

namespace ckpt {
namespace {

/// What equal storages have in common before a byte is read.
using Likeness = std::tuple<std::uint64_t, DType, bool, ByteOrder, std::string>;

/// Marks those of alike storages that may be equal: all, but where the file has checksums, those that share one.
void mark_possible(const std::vector<Storage>& storages, const std::vector<std::uint32_t>& places,
                   std::vector<bool>& possible) {
  std::map<std::optional<std::uint32_t>, std::vector<std::uint32_t>> by_checksum;
  for (const std::uint32_t place : places) by_checksum[storages[place].bytes->recorded_crc32()].push_back(place);
  const bool unknown = by_checksum.contains(std::nullopt);
  for (const auto& [checksum, sharing] : by_checksum)
    for (const std::uint32_t place : sharing) possible[place] = (unknown ? places : sharing).size() > 1;
}

/// The states of objects, each once, that are those of an optimizer which was saved whole.
std::set<ValueId> states_of_whole_optimizers(const ValueGraph& values) {
  std::set<ValueId> looked_at, found;
  for (ValueId id = 0; id < values.size(); ++id) {
    if (values.kind(id) != ValueKind::object) continue;
    for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next) {
      if (values.effect(handle).kind != EffectKind::build) continue;
      const ValueId state = values.items(values.effect(handle))[0];
      if (!is_mapping(values, state) || !looked_at.insert(state).second) continue;
      const auto entries = mapping_entries(values, state);
      if (find_entry(values, entries, "state") && find_entry(values, entries, "param_groups")) found.insert(state);
    }
  }
  return found;
}

/// Storages of optimizers' states: load_state_dict() keeps the tensors that it is given, and each step changes them.
std::vector<bool> of_optimizers(const Checkpoint& checkpoint) {
  std::vector<bool> below(checkpoint.values.size()), found(checkpoint.storages.size());
  std::set<ValueId> states = states_of_whole_optimizers(checkpoint.values);
  for (const OptimizerState& state : find_optimizer_states(checkpoint))
    for (const OptimizerState::Part& part : state.parts) states.insert(part.value);
  for (const ValueId state : states) mark_held(checkpoint.values, state, {}, below);
  for (const auto& [id, use] : checkpoint.storage_uses)
    if (below[id]) found[use.storage] = true;
  return found;
}

}  // namespace

std::pair<Checkpoint, DedupeReport> dedupe(Checkpoint checkpoint) {
  TensorEdit edit(std::move(checkpoint));
  const std::vector<Storage>& storages = edit.checkpoint().storages;
  const std::vector<bool> optimizers = of_optimizers(edit.checkpoint());
  std::map<Likeness, std::vector<std::uint32_t>> alike;
  for (std::uint32_t i = 0; i < storages.size(); ++i) {
    const Storage& storage = storages[i];
    if (storage.bytes != nullptr && storage.nbytes > 0 && !optimizers[i])
      alike[{storage.nbytes, storage.dtype, storage.typed, storage.byte_order, storage.location}].push_back(i);
  }
  std::vector<bool> compared(storages.size());
  for (const auto& [likeness, places] : alike) mark_possible(storages, places, compared);
  std::vector<std::uint32_t> first(storages.size());
  std::map<std::pair<Likeness, std::string>, std::uint32_t> by_content;
  const std::vector<bool> held = edit.held_otherwise();
  DedupeReport report;
  // In the order of the file, which is read forward once.
  for (std::uint32_t i = 0; i < storages.size(); ++i) {
    first[i] = i;
    if (!compared[i]) continue;
    const Storage& storage = storages[i];
    Likeness likeness{storage.nbytes, storage.dtype, storage.typed, storage.byte_order, storage.location};
    const auto [found, fresh] = by_content.try_emplace({std::move(likeness), sha256_of(*storage.bytes)}, i);
    if (fresh || held[i]) continue;
    first[i] = found->second;
    ++report.storages;
    report.saved += storage.nbytes;
  }
  for (std::size_t i = 0; i < edit.views().size(); ++i) {
    const auto [storage, info] = edit.views()[i];
    if (first[storage] != storage) edit.set(i, first[storage], info);
  }
  return {edit.finish(), report};
}

}  // namespace ckpt
