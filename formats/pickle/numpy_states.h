#pragma once

#include <vector>

#include "ckpt/value.h"

namespace ckpt::pickle {

/// Calls among the values from `first` on that make dtypes and arrays of numpy's, and are none that numpy writes, or
/// given a state that it does not write. numpy takes over what it says: an array would reach past its bytes where
/// fields do; bytes would be taken for addresses of objects where the flags do not own up to objects, where another
/// field overlaps them, or where a dtype is changed after an array has it; and memory that an array gives up when it is
/// given another state may still be a view's. (Shown with numpy 2.4; the states are those that numpy 1.3 to 2.4 write:
/// of dtypes version 3, or 4 with metadata.)
std::vector<ValueId> unsound_states(const ValueGraph& values, ValueId first);

}  // namespace ckpt::pickle
