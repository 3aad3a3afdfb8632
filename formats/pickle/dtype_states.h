#pragma once

#include <vector>

#include "ckpt/value.h"

namespace ckpt::pickle {

/// Calls of numpy.dtype among the values from `first` on, with a state that dtype.__reduce__ does not write. numpy
/// takes over what it says: an array would reach past its bytes where fields do, and take them for addresses of objects
/// where the flags do not own up to objects, or where a dtype is changed after an array has it. (Shown with numpy 2.4;
/// the states are those that numpy 1.3 to 2.4 write: version 3, or 4 with metadata.)
std::vector<ValueId> unsound_dtypes(const ValueGraph& values, ValueId first);

}  // namespace ckpt::pickle
