#pragma once

#include <cstdint>

#include "ckpt/value.h"

namespace ckpt {

/// What the call of a mapping takes its first pairs from: a dict (as Counter is pickled), or the list of [key, value]
/// pairs that Python 2 gives an OrderedDict; no_value where there is none.
ValueId given_pairs(const ValueGraph& values, ValueId mapping);

/// Whether all that a list holds are [key, value] pairs as Python 2 gives them, `until` a time: what makes a mapping of
/// it does not see what comes later. 0 is the end.
bool lists_pairs(const ValueGraph& values, ValueId list, Time until);

/// Whether it is a mapping whose entries say all that its call is given but for what makes a defaultdict's values. Of a
/// list that Counter is to count, say, they do not.
bool shows_all_pairs(const ValueGraph& values, ValueId mapping);

/// The pairs that a mapping is made with or given in dicts, each as often as its key is: a few bytes set one key again
/// and again, and whoever looks at the mapping passes all of them.
std::uint64_t pair_count(const ValueGraph& values, ValueId mapping);

/// How many keys, values and pairs the calls of mappings from `first` on are given (given_pairs()): each counts as
/// often as a mapping has it. A few bytes give one long list to thousands of mappings.
std::uint64_t pairs_given(const ValueGraph& values, ValueId first);

}  // namespace ckpt
