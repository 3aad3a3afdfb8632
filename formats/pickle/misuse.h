#pragma once

#include <cstddef>
#include <vector>

#include "ckpt/value.h"

namespace ckpt::pickle {

/// The callables among the values from `first` on, names of which some call or state is none that a pickler writes and
/// that may reach memory or another call by it (see call_policy.h and numpy_states.h). A name may come more than once.
std::vector<ValueId> misused_names(const ValueGraph& values, std::size_t first);

}  // namespace ckpt::pickle
