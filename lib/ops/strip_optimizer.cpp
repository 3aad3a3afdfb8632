#include <set>
#include <string>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "ops/mapping_edit.h"
#include "ops/prune.h"

namespace ckpt {
namespace {

/// States, and lists and tuples of states alone.
std::vector<bool> of_optimizers(const ValueGraph& values, const std::vector<OptimizerState>& states) {
  std::vector<bool> is_state(values.size());
  for (const OptimizerState& state : states) is_state[state.value] = true;
  std::vector<bool> found = is_state;
  for (ValueId id = 0; id < values.size(); ++id) {
    if (values.kind(id) != ValueKind::list && values.kind(id) != ValueKind::tuple) continue;
    bool any = false, all = true;
    values.each_operand(id, [&](ValueId item) {
      any = true;
      all = all && is_state[item];
    });
    found[id] = any && all;
  }
  return found;
}

std::vector<std::string> paths_of(const std::vector<OptimizerState>& states) {
  std::vector<std::string> paths;
  for (const OptimizerState& state : states) paths.push_back(state.path);
  return paths;
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
  const auto count = static_cast<ValueId>(checkpoint.values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!is_mapping(checkpoint.values, id)) continue;
    const auto pairs =
        pairs_to_remove(checkpoint.values, id, [&](const MappingEntry& pair) { return goes[pair.value]; });
    if (!pairs.empty()) remove_pairs(checkpoint.values, id, pairs);
  }
  checkpoint = prune(std::move(checkpoint));
  StripOptimizerReport report{{}, paths_of(find_optimizer_states(checkpoint))};
  const std::set<std::string> left(report.left.begin(), report.left.end());
  for (std::string& path : paths_of(found))
    if (!left.contains(path)) report.removed.push_back(std::move(path));
  return {std::move(checkpoint), std::move(report)};
}

}  // namespace ckpt
