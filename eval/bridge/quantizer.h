#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "bridge/state_entries.h"
#include "ckpt/checkpoint.h"

namespace ckpt::eval {

/// Numbers of a quantised tensor's channels: a tensor of the file, or a list in older ones.
using ChannelNumbers = std::variant<const Tensor*, std::vector<double>>;

/// How a quantised tensor's integers become values (torch._utils._rebuild_qtensor's fifth argument).
struct Quantizer {
  bool per_channel = false;
  double scale = 1;
  std::int64_t zero_point = 0;
  ChannelNumbers scales, zero_points;  ///< per_channel
  std::int64_t axis = 0;
};

/// Of one of the checkpoint's `tensors`. Throws Error (unsupported) where the file says it in a way that torch does
/// not.
Quantizer quantizer_of(const Checkpoint& checkpoint, const TensorsByValue& tensors, const Tensor& tensor);

}  // namespace ckpt::eval
