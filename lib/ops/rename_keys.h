#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/state_dict.h"
#include "ops/mapping_edit.h"

namespace ckpt {

/// Of a pair of a mapping, in its place.
void set_key(ValueGraph& values, const MappingEntry& entry, std::string_view name);
void set_value(ValueGraph& values, const MappingEntry& entry, ValueId value);

/// The new name of a key; none where it stays.
using RenameKey = std::function<std::optional<std::string>(std::string_view)>;

/// What has keys to rename: state dicts, and what would be one but for other values in it.
std::vector<StateDict> named_dicts(const Checkpoint& checkpoint);

struct RenamedKeys {
  std::size_t changed = 0, unchanged = 0;
  std::vector<std::string> left;  ///< the first few of those that stay
};

/// Renames keys of named_dicts(), but for those of other values.
class KeyRenamer {
 public:
  /// `advice`: what may keep keys apart. The checkpoint must outlive this.
  KeyRenamer(Checkpoint& checkpoint, std::string advice);

  /// What the mapping has beside its keys stays. Throws Error (invalid_argument) where two become one, naming both.
  RenamedKeys rename_keys(const StateDict& dict, const RenameKey& rename);

 private:
  /// Whether it is a model's: that of a tensor, or of what a state dict may hold in its place; or a layer's.
  [[nodiscard]] bool is_renamed(const MappingEntry& entry) const;

  Checkpoint& checkpoint_;
  std::string advice_;
  std::vector<bool> is_tensor_;
  /// Where keys stand that have been renamed: in Python 2's form two dicts may share the list of their pairs.
  std::set<decltype(place_of({}))> done_;
};

}  // namespace ckpt
