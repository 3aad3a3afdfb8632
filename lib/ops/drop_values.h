#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt {

/// A checkpoint without some of its values.
struct Dropped {
  Checkpoint checkpoint;
  // By value of what was given:
  std::vector<bool> replaced;  ///< None stands in its place somewhere
  std::vector<bool> removed;   ///< its entry in a mapping went
  /// … and the names that are left of a tensor. One that was told apart from another's may have that other's now.
  std::unordered_map<ValueId, std::vector<std::string>> names;
};

/// Takes the values that `gone` names (by their ids) out of a checkpoint: entries of mappings go; a call that is given
/// one of them is not made and goes too, as does an object whose state is a tuple around one; in lists, other tuples
/// and the attributes of objects None takes the place. What then is held by nothing is pruned. The root must not be
/// among them; where it goes with one, it is no_value, and nothing is pruned.
Dropped drop_values(Checkpoint checkpoint, std::vector<bool> gone);

}  // namespace ckpt
