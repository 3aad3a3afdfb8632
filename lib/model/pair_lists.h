#pragma once

#include <cstdint>

#include "ckpt/value.h"

namespace ckpt {

/// The pairs that a dict is made with or given, each as often as its key is: a few bytes set one key again and again,
/// and whoever looks at the mapping passes all of them.
std::uint64_t pair_count(const ValueGraph& values, ValueId mapping);

/// How many pairs the mappings from `first` on are given in lists, as Python 2 gives them to an OrderedDict: each
/// counts as often as a mapping has it. A few bytes give one long list to thousands of mappings.
std::uint64_t pairs_in_lists(const ValueGraph& values, ValueId first);

}  // namespace ckpt
