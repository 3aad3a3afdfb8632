#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

namespace ckpt {

/// Numbers of a quantised tensor's channels: a tensor of the file, or a list in older ones (listed_numbers()).
using ChannelNumbers = std::variant<const Tensor*, ValueId>;

/// How a quantised tensor's integers become values (torch._utils._rebuild_qtensor's fifth argument).
struct Quantizer {
  bool per_channel = false;
  double scale = 1;
  std::int64_t zero_point = 0;
  ChannelNumbers scales, zero_points;  ///< per_channel
  std::int64_t axis = 0;
};

/// A checkpoint's tensors by the objects that they are in its graph.
using TensorsByValue = std::unordered_map<ValueId, const Tensor*>;
CKPT_API TensorsByValue tensors_by_value(const Checkpoint& checkpoint);

/// Of one of the checkpoint's `tensors`, whose dtype is quantised. Throws Error (unsupported) where the file says it in
/// a way that torch does not.
CKPT_API Quantizer quantizer_of(const ValueGraph& values, const TensorsByValue& tensors, const Tensor& tensor);

/// What calls of quantised tensors are given in tuples, by the objects in the graph: tensors among them are numbers of
/// channels, and say how integers are read.
CKPT_API std::unordered_set<ValueId> given_to_quantised(const Checkpoint& checkpoint);

/// Throws Error (unsupported) where the list holds anything but numbers.
CKPT_API std::vector<double> listed_numbers(const ValueGraph& values, ValueId list);

}  // namespace ckpt
