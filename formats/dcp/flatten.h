#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt::dcp {

/// A part of a path: a key of a dict, or a place in a list.
struct PathPart {
  std::uint32_t parent = 0;  ///< index of the part before it, and one; 0: there is none
  bool is_place = false;
  std::uint64_t place = 0;
  std::string key;
};

struct Leaf {
  std::string name;        ///< its path joined by dots
  std::uint32_t path = 0;  ///< index of the last part, and one
  ValueId value = no_value;
  const Tensor* tensor = nullptr;  ///< null for any other value; owned by the checkpoint
};

/// The flat state dict that torch.distributed.checkpoint makes of a nested one (_traverse.py, traverse_state_dict):
/// dicts are entered, lists where a tensor or a dict is in them, also within lists; tuples and all else are leaves.
struct FlatDict {
  std::vector<PathPart> parts;
  std::vector<Leaf> leaves;
  bool has_other_keys = false;  ///< keys that are no strings became strings
  bool has_empty_dicts = false;
  bool has_other_mappings = false;  ///< an OrderedDict and its like, which will be dicts

  /// From the root on. `last`: as Leaf::path.
  [[nodiscard]] std::vector<const PathPart*> path(std::uint32_t last) const;
};

/// Throws Error: unsupported (the object is no dict, or holds itself, or an empty dict in a list), invalid_argument
/// (two values of one name), limit_exceeded.
FlatDict flatten(const Checkpoint& checkpoint);

}  // namespace ckpt::dcp
