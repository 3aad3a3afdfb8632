#pragma once

#include <optional>
#include <string>

#include "ckpt/checkpoint.h"

namespace ckpt::plain_pickle {

/// What a call that makes an array of numpy's says of it.
struct ArrayCall {
  TensorInfo info;
  ByteOrder byte_order = ByteOrder::little;
  ValueId data = no_value;
  std::string why_not;  ///< why it is no tensor; the rest means nothing then
};

/// Reads the object at `id`: numpy's _reconstruct with its state (protocols 0 to 4, and 5 where the array is not in one
/// piece), _frombuffer (protocol 5) or _mareconstruct; none where it is no array. Nothing else may have changed it.
/// Throws Error: corrupt (a shape that overflows or is none), limit_exceeded.
std::optional<ArrayCall> array_call(const ValueGraph& values, ValueId id);

/// Adds a tensor and a storage for each such object that is one, and a warning that counts those that are not.
/// Throws Error: corrupt (bytes of another size than the shape's), by the array's name.
void add_arrays(Checkpoint& checkpoint);

}  // namespace ckpt::plain_pickle
