#include "ops/matched_state_dicts.h"

#include <string>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ops/root.h"

namespace ckpt {

Searched::Searched(const Checkpoint& checkpoint) : facts_(checkpoint) {
  Parts parts = find_parts(checkpoint);
  if (const std::string options = weights_only_options(checkpoint, parts); !options.empty())
    throw Error(ErrorCode::invalid_argument, "the file holds a whole module")
        .expected("mappings of names to tensors")
        .in(checkpoint.file)
        .hint("ckpt convert " + shell_word(checkpoint.file) + " OUT " + options + " makes one of it");
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
