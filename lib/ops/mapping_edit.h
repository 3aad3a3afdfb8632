#pragma once

#include <functional>
#include <tuple>
#include <vector>

#include "ckpt/state_dict.h"

namespace ckpt {

/// The pairs that a value holds under keys, each that it is given: a mapping's, or those that SETITEM(S) gives an
/// object of a class nobody here knows (a dict's subclass).
std::vector<MappingEntry> keyed_pairs(const ValueGraph& values, ValueId holder);

/// Where a pair stands: no two are in one place.
inline auto place_of(const MappingEntry& pair) { return std::tuple(pair.effect, pair.holder, pair.index); }

/// Those of keyed_pairs(values, holder) that have to be taken away with those of which `is_gone` is true. What a key
/// had before another pair set it again must not come back once that pair is gone: of a mapping that loses any, only
/// those that count stay.
std::vector<MappingEntry> pairs_to_remove(const ValueGraph& values, ValueId holder,
                                          const std::function<bool(const MappingEntry&)>& is_gone);

/// Takes some of keyed_pairs(values, holder) away; the rest keep their order. All at once: an entry does not outlive
/// the edit.
void remove_pairs(ValueGraph& values, ValueId holder, const std::vector<MappingEntry>& pairs);

/// Puts key and value right after `entry`, one of mapping_pairs(values, mapping).
void insert_pair_after(ValueGraph& values, ValueId mapping, const MappingEntry& entry, ValueId key, ValueId value);

}  // namespace ckpt
