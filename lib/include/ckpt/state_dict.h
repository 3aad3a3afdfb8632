#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

namespace ckpt {

/// One key and value of a mapping, and where the pair stands in the graph.
struct MappingEntry {
  ValueId key = no_value;
  ValueId value = no_value;
  std::uint32_t effect = 0;   ///< handle of the SETITEM(S) effect that sets it; 0: an operand of `holder`
  ValueId holder = no_value;  ///< the value whose items() hold key and value where `effect` is 0
  std::uint32_t index = 0;    ///< of the key in those items; the value stands one further
  /// Handle of the effect whose only item the value is, where Python 2 gave key and value to a list one by one; else 0.
  std::uint32_t value_effect = 0;
};

/// True for a dict and for a call that makes a mapping of the standard library (collections.OrderedDict, defaultdict,
/// Counter, whichever module name a protocol gives it).
CKPT_API bool is_mapping(const ValueGraph& values, ValueId id);

/// The mapping's entries in the order Python would iterate them, later assignments to an equal string key or integer
/// having replaced earlier ones.
CKPT_API std::vector<MappingEntry> mapping_entries(const ValueGraph& values, ValueId mapping);

/// Every pair the mapping is given, keys that a later pair sets again included: what an edit of keys has to touch.
CKPT_API std::vector<MappingEntry> mapping_pairs(const ValueGraph& values, ValueId mapping);

/// A model's weights by name: a mapping with string keys, at least one tensor, and all values tensors, None, or
/// anything under a key whose last part is "_extra_state", or that ends as those of what a quantised layer packs
/// ("_packed_params").
struct StateDict {
  std::string path;  ///< from the root, joined by dots; empty for the root itself
  ValueId value = no_value;
};

/// Every state dict of the checkpoint in file order: mappings reached from the root through mappings, lists and tuples,
/// one that several paths lead to under each of them. Not searched: objects' attributes, and what lies in an
/// optimizer's state (OptimizerState::parts). A file that is a module
/// (FormatDetails::whole_module) has none. Throws Error (limit_exceeded): shared containers give rise to more names
/// than ckpt/limits.h allows.
CKPT_API std::vector<StateDict> find_state_dicts(const Checkpoint& checkpoint);

/// Those that are models', by value: a key is a layer's ("fc.weight"), or a path to it is one where trainers
/// keep a model (the root, "state_dict", "model" …). A scaler's and a random generator's are not.
CKPT_API std::unordered_set<ValueId> models_of(const ValueGraph& values, const std::vector<StateDict>& dicts);

/// What an optimizer's state_dict() gives: a mapping with the keys "state", a mapping, and "param_groups", a list. Or
/// what torch.distributed.checkpoint makes of it where that is flattened: keys "state.NAME…" and "param_groups.NAME…".
struct OptimizerState {
  struct Part {
    std::string path;
    ValueId value = no_value;
  };
  std::string path;
  /// The mapping; where it holds a model as well ({"model": …, **optimizer.state_dict()}), its entries "state" and
  /// "param_groups" alone.
  std::vector<Part> parts;
  std::size_t parameters = 0;  ///< that it keeps a state of
  std::size_t groups = 0;      ///< 0 where it is flattened, and its groups are not told apart
};

/// Every optimizer's state, found on the same walk as state dicts, and with its limits.
CKPT_API std::vector<OptimizerState> find_optimizer_states(const Checkpoint& checkpoint);

/// The mapping under `_metadata` of a state dict (an attribute, set by BUILD), or no_value.
CKPT_API ValueId state_dict_metadata(const ValueGraph& values, ValueId state_dict);

}  // namespace ckpt
