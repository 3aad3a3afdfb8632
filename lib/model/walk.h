#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ckpt/value.h"

namespace ckpt {

/// The values a Python program would find in a value, each with its part of a path: entries of a mapping by key,
/// positions of a sequence, attributes by name, arguments of an unknown call by position.
std::vector<std::pair<std::string, ValueId>> named_children(const ValueGraph& values, ValueId id);

}  // namespace ckpt
