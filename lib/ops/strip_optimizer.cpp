#include <algorithm>
#include <string>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "model/calls.h"
#include "ops/mapping_edit.h"
#include "ops/prune.h"

namespace ckpt {
namespace {

/// States, and lists and tuples of states alone.
std::vector<bool> of_optimizers(const ValueGraph& values, const std::vector<OptimizerState>& states) {
  std::vector<bool> is_state(values.size());
  for (const OptimizerState& state : states)
    for (const OptimizerState::Part& part : state.parts) is_state[part.value] = true;
  std::vector<bool> found = is_state;
  for (ValueId id = 0; id < values.size(); ++id) {
    if (values.kind(id) != ValueKind::list && values.kind(id) != ValueKind::tuple) continue;
    bool any = false, all = true;
    values.each_operand(id, [&](ValueId item) {
      any = true;
      all = all && is_state[item];
    });
    found[id] = is_state[id] || (any && all);
  }
  return found;
}

/// Mappings that an object was made of, or has for its attributes: what is taken from them is taken from the object.
std::vector<bool> of_objects(const ValueGraph& values) {
  std::vector<bool> found(values.size());
  for (ValueId id = 0; id < values.size(); ++id)
    if (values.kind(id) == ValueKind::object) each_attached(values, id, [&](ValueId part) { found[part] = true; });
  return found;
}

}  // namespace

std::pair<Checkpoint, StripOptimizerReport> strip_optimizer(Checkpoint checkpoint) {
  const auto found = find_optimizer_states(checkpoint);
  if (found.empty()) return {std::move(checkpoint), StripOptimizerReport{}};
  const std::vector<bool> goes = of_optimizers(checkpoint.values, found);
  if (goes[checkpoint.root])
    throw Error(ErrorCode::invalid_argument, "there is nothing but an optimizer's state")
        .expected("a checkpoint with weights beside it")
        .in(checkpoint.file);
  const std::vector<bool> objects = of_objects(checkpoint.values);
  const auto count = static_cast<ValueId>(checkpoint.values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!is_mapping(checkpoint.values, id) || objects[id]) continue;
    const auto pairs =
        pairs_to_remove(checkpoint.values, id, [&](const MappingEntry& pair) { return goes[pair.value]; });
    if (!pairs.empty()) remove_pairs(checkpoint.values, id, pairs);
  }
  std::vector<bool> stays(count);
  mark_held(checkpoint.values, checkpoint.root, checkpoint.discarded, stays);
  StripOptimizerReport report;
  for (const OptimizerState& state : found) {
    const bool is_held =
        std::ranges::any_of(state.parts, [&](const OptimizerState::Part& part) { return stays[part.value]; });
    (is_held ? report.left : report.removed).push_back(state.path);
  }
  return {prune(std::move(checkpoint)), std::move(report)};
}

}  // namespace ckpt
