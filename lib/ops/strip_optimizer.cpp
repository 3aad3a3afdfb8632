#include <map>
#include <set>
#include <string>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "ops/mapping_edit.h"
#include "ops/prune.h"

namespace ckpt {
namespace {

/// A state, or a list or tuple of states alone.
bool is_of_optimizers(const ValueGraph& values, ValueId id, const std::set<ValueId>& states) {
  if (states.contains(id)) return true;
  if (values.kind(id) != ValueKind::list && values.kind(id) != ValueKind::tuple) return false;
  bool any = false, all = true;
  values.each_operand(id, [&](ValueId item) {
    any = true;
    all = all && states.contains(item);
  });
  return any && all;
}

std::vector<std::string> paths_of(const std::vector<OptimizerState>& states) {
  std::vector<std::string> paths;
  for (const OptimizerState& state : states) paths.push_back(state.path);
  return paths;
}

}  // namespace

std::pair<Checkpoint, StripOptimizerReport> strip_optimizer(Checkpoint checkpoint) {
  const auto found = find_optimizer_states(checkpoint);
  if (found.empty()) return {std::move(checkpoint), {}};
  std::set<ValueId> states;
  for (const OptimizerState& state : found) states.insert(state.value);
  if (is_of_optimizers(checkpoint.values, checkpoint.root, states))
    throw Error(ErrorCode::invalid_argument, "there is nothing but an optimizer's state")
        .expected("a checkpoint with weights beside it")
        .in(checkpoint.file);
  const auto count = static_cast<ValueId>(checkpoint.values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!is_mapping(checkpoint.values, id)) continue;
    std::vector<MappingEntry> pairs = mapping_pairs(checkpoint.values, id);
    std::erase_if(pairs,
                  [&](const MappingEntry& pair) { return !is_of_optimizers(checkpoint.values, pair.value, states); });
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
