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

/// Where keys stand that an edit has renamed: in Python 2's form two dicts may share the list of their pairs.
using RenamedPlaces = std::set<decltype(place_of({}))>;

struct RenamedKeys {
  std::size_t changed = 0, unchanged = 0;
  std::vector<std::string> left;  ///< the first few of those that stay
};

/// Renames the keys of one state dict; what it has beside them stays. Throws Error (invalid_argument) where two become
/// one, naming both; `advice`: what may keep them apart.
RenamedKeys rename_keys(Checkpoint& checkpoint, const StateDict& dict, const RenameKey& rename, RenamedPlaces& places,
                        const std::string& advice);

}  // namespace ckpt
