#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"

/// For formats that hold tensors by name, and nothing beside them.
namespace ckpt::named_tensors {

// What SaveReport::left_out says of mappings, in any format.
inline constexpr std::string_view keys_become_strings = "keys that are no strings become strings";
inline constexpr std::string_view mappings_become_dicts = "mappings of other types, such as OrderedDict, become dicts";
inline constexpr std::string_view attributes_are_left_out =
    "attributes of dicts, such as a state dict's _metadata, are left out";

/// What tensors by name cannot say of this checkpoint, as SaveReport::left_out: devices, that tensors share storage,
/// what a tensor is beside its elements, attributes of mappings, nesting.
std::vector<std::string> losses(const Checkpoint& checkpoint);
/// Of a format that says in its own way what tensors share.
std::vector<std::string> losses_but_sharing(const Checkpoint& checkpoint);
/// Of one that says also where they are.
std::vector<std::string> losses_beside_elements(const Checkpoint& checkpoint);

/// Refuses a checkpoint that holds anything but tensors, in mappings, lists and tuples: nothing is dropped that nobody
/// asked to be dropped. Throws Error: unsupported, naming what else there is; limit_exceeded.
void refuse_other_values(const Checkpoint& checkpoint);

/// Whether --weights-only finds what it takes, a module too, and that is less than all.
bool has_weights(const Checkpoint& checkpoint);

/// Whether it is given a state.
bool has_attributes(const ValueGraph& values, ValueId id);

/// The first two names of tensors that share a storage; two empty ones where none do. `named`: things with a name and a
/// tensor, which may be none.
template <class Named>
std::pair<std::string, std::string> shared_pair(const std::vector<Named>& named) {
  std::map<std::uint32_t, const std::string*> first;
  for (const Named& one : named) {
    if (one.tensor == nullptr || !one.tensor->storage) continue;
    const auto [found, fresh] = first.try_emplace(*one.tensor->storage, &one.name);
    if (!fresh) return {*found->second, one.name};
  }
  return {};
}

}  // namespace ckpt::named_tensors
