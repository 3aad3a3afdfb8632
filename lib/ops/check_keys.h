#pragma once

#include <cstdint>
#include <unordered_map>

#include "ckpt/check.h"
#include "ckpt/quantizer.h"
#include "ckpt/state_dict.h"
#include "model/model_names.h"

namespace ckpt {

/// What comparing the state dicts of one checkpoint looks up, found once however many there are. The checkpoint must
/// outlive it.
class StateDictFacts {
 public:
  explicit StateDictFacts(const Checkpoint& checkpoint);

  [[nodiscard]] const Checkpoint& checkpoint() const { return checkpoint_; }
  [[nodiscard]] const TensorsByValue& tensors() const { return tensors_; }
  /// The tensor that the value makes; null where it makes none.
  [[nodiscard]] const Tensor* tensor(ValueId value) const;
  /// The version in what `_metadata` says of a module; 0 where none is told.
  [[nodiscard]] std::int64_t version(ValueId module);

 private:
  const Checkpoint& checkpoint_;
  TensorsByValue tensors_;
  std::unordered_map<ValueId, std::int64_t> versions_;  ///< many modules may hold one mapping
};

/// A state dict of a checkpoint. What it refers to must outlive it.
struct FoundStateDict {
  StateDictFacts& facts;
  const StateDict& dict;
};

/// The module that a key belongs to, dot included: "bn." of "bn.weight"; empty for the root.
inline std::string_view module_of(std::string_view key) { return key.substr(0, key.rfind('.') + 1); }

/// What check() tells of one state dict against another, but for a fix and for what PyTorch does not copy.
CheckReport check_keys(const FoundStateDict& dict, const FoundStateDict& like);

}  // namespace ckpt
