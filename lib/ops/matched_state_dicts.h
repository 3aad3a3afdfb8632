#pragma once

#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "ckpt/modules.h"
#include "ops/check_keys.h"

namespace ckpt {

/// A checkpoint whose state dicts are looked for once.
class Searched {
 public:
  /// Throws Error (invalid_argument) where there is a whole module with weights: any state dict beside it might
  /// be another's.
  explicit Searched(const Checkpoint& checkpoint);

  [[nodiscard]] StateDictFacts& facts() { return facts_; }
  [[nodiscard]] const Parts& parts() const { return parts_; }
  [[nodiscard]] bool has(std::string_view path) const { return by_path_.contains(path); }
  /// Throws what find_state_dict() throws.
  [[nodiscard]] FoundStateDict at(std::string_view path);

 private:
  StateDictFacts facts_;
  Parts parts_;
  std::map<std::string_view, const StateDict*> by_path_;
};

/// One of the last checkpoint's state dicts, last, and those of the others that belong to it.
using StateDicts = std::vector<FoundStateDict>;

/// Those of `models`, state dicts of the last checkpoint, by their paths; where that has but one, in each that has none
/// at its path the one that `auto` finds. `searched`: the same checkpoints, which outlive it. Throws what
/// resolve_root() and refuse_mixed_model() throw.
std::vector<StateDicts> matched_state_dicts(const std::vector<const Checkpoint*>& checkpoints,
                                            const std::vector<StateDict>& models, std::deque<Searched>& searched);

}  // namespace ckpt
