#pragma once

#include <vector>

#include "ckpt/state_dict.h"

namespace ckpt {

/// The pairs that a value holds under keys, each that it is given: a mapping's, or those that SETITEM(S) gives an
/// object of a class nobody here knows (a dict's subclass).
std::vector<MappingEntry> keyed_pairs(const ValueGraph& values, ValueId holder);

/// Takes some of keyed_pairs(values, holder) away; the rest keep their order. All at once: an entry does not outlive
/// the edit.
void remove_pairs(ValueGraph& values, ValueId holder, const std::vector<MappingEntry>& pairs);

/// Puts key and value right after `entry`, one of mapping_pairs(values, mapping).
void insert_pair_after(ValueGraph& values, ValueId mapping, const MappingEntry& entry, ValueId key, ValueId value);

}  // namespace ckpt
