#pragma once

#include <vector>

#include "ckpt/value.h"

namespace ckpt::pickle {

/// How many times each value is used by what `roots` reach: as an operand of a value or effect, or as a root.
std::vector<std::uint32_t> count_uses(const ValueGraph& graph, const std::vector<ValueId>& roots);

/// Which of the values that `roots` reach hold themselves.
std::vector<bool> find_cyclic(const ValueGraph& graph, const std::vector<ValueId>& roots);

}  // namespace ckpt::pickle
