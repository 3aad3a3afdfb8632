#include "ops/matched_state_dicts.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ops/root.h"

namespace ckpt {

Searched::Searched(const Checkpoint& checkpoint) : facts_(checkpoint), parts_(find_parts(checkpoint)) {
  if (const std::string options = weights_only_options(checkpoint, parts_); !options.empty())
    throw Error(ErrorCode::invalid_argument, "the file holds a whole module")
        .expected("mappings of names to tensors")
        .in(checkpoint.file)
        .hint("ckpt convert " + shell_word(checkpoint.file) + " OUT " + options + " makes one of it");
  for (const StateDict& dict : parts_.state_dicts) by_path_.emplace(dict.path, &dict);
}

FoundStateDict Searched::at(std::string_view path) {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) throw no_state_dict_at(facts_.checkpoint(), path);
  return {facts_, *found->second};
}

std::vector<StateDicts> matched_state_dicts(const std::vector<const Checkpoint*>& checkpoints,
                                            const std::vector<StateDict>& models, std::deque<Searched>& searched) {
  const Parts& last = searched.back().parts();
  const bool is_one = each_once(last.state_dicts).size() < 2;
  const std::string path = is_one ? resolve_root(*checkpoints.back(), "auto") : std::string();
  if (!is_one) refuse_mixed_model(*checkpoints.back(), last);
  std::vector<StateDicts> matched;
  std::unordered_set<ValueId> values;  // of the last
  std::set<std::vector<ValueId>> rows;
  for (const StateDict& dict : models) {
    if (!std::ranges::all_of(searched, [&](const Searched& each) { return each.has(dict.path); })) continue;
    StateDicts row;
    std::vector<ValueId> ids;
    for (Searched& each : searched) {
      row.push_back(each.at(dict.path));
      ids.push_back(row.back().dict.value);
    }
    if (rows.insert(std::move(ids)).second) matched.push_back(std::move(row));
    values.insert(dict.value);
  }
  if (is_one && matched.empty()) {
    matched.emplace_back();
    for (std::size_t i = 0; i < searched.size(); ++i)
      matched.back().push_back(searched[i].at(searched[i].has(path) ? path : resolve_root(*checkpoints[i], "auto")));
    return matched;
  }
  // What lies elsewhere, too, has been matched there.
  for (const StateDict& dict : models)
    if (!values.contains(dict.value))
      for (Searched& each : searched) static_cast<void>(each.at(dict.path));
  return matched;
}

}  // namespace ckpt
