#include "ops/matched_state_dicts.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ops/prune.h"
#include "ops/root.h"

namespace ckpt {
namespace {

/// A loss that was saved whole has none.
bool holds_weights(const Checkpoint& checkpoint, const std::vector<Module>& modules) {
  std::vector<bool> below(checkpoint.values.size());
  for (const Module& module : modules) mark_held(checkpoint.values, module.value, {}, below);
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                     [&](const Tensor& tensor) { return below[tensor.value]; });
}

}  // namespace

Searched::Searched(const Checkpoint& checkpoint) : facts_(checkpoint) {
  Parts parts = find_parts(checkpoint);
  if (holds_weights(checkpoint, parts.modules))
    throw Error(ErrorCode::invalid_argument, "the file holds a whole module")
        .expected("mappings of names to tensors")
        .in(checkpoint.file)
        .hint("ckpt convert " + shell_word(checkpoint.file) + " OUT --weights-only makes one of it");
  dicts_ = std::move(parts.state_dicts);
  for (const StateDict& dict : dicts_) by_path_.emplace(dict.path, &dict);
}

FoundStateDict Searched::at(std::string_view path) {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) throw no_state_dict_at(facts_.checkpoint(), path);
  return {facts_, *found->second};
}

std::vector<StateDicts> matched_state_dicts(const std::vector<const Checkpoint*>& checkpoints,
                                            const std::vector<StateDict>& models, std::deque<Searched>& searched) {
  std::vector<StateDicts> matched;
  if (searched.back().dicts().size() < 2) {
    matched.emplace_back();
    for (std::size_t i = 0; i < searched.size(); ++i)
      matched.back().push_back(searched[i].at(resolve_root(*checkpoints[i], "auto")));
    return matched;
  }
  for (const StateDict& dict : models) {
    matched.emplace_back();
    for (Searched& each : searched) matched.back().push_back(each.at(dict.path));
  }
  return matched;
}

}  // namespace ckpt
