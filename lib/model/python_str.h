#pragma once

#include <string>

#include "ckpt/value.h"

namespace ckpt {

/// What Python's str() gives for a value that serves as a key: strings as they are, numbers, tuples as their repr. A
/// value that only running code could print gives "<object>".
std::string python_str(const ValueGraph& values, ValueId id);

}  // namespace ckpt
