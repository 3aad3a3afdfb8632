#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ckpt/value.h"

namespace ckpt {

/// When each value is made and each effect happens in a program that makes every value where it is needed first.
struct MakingOrder {
  std::vector<Time> values;
  std::unordered_map<std::uint32_t, Time> effects;  ///< by handle
};

/// The order in which Python would make what `root` reaches. None where the order of the source has to be kept: a value
/// changes after others have been begun, or holds itself before it is made.
std::optional<MakingOrder> making_order(const ValueGraph& values, ValueId root);

}  // namespace ckpt
