#pragma once

#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/dtype.h"

namespace ckpt {

/// average = average * keep + number * take, in float64; the first one's `keep` counts for nothing.
struct AverageStep {
  ByteSourcePtr elements;  ///< contiguous and little-endian
  DType dtype{};
  double keep = 1, take = 1;
};

/// As many elements of dtype `to` as each step has: the average, divided by `divisor`, as cast_elements() casts it.
/// Complex numbers are averaged part by part; all steps have them, or none. Reading forward is cheap.
ByteSourcePtr averaged_source(std::vector<AverageStep> steps, double divisor, DType to);

}  // namespace ckpt
