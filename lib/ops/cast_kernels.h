#pragma once

#include <cstddef>

#include "ckpt/dtype.h"

namespace ckpt {

/// The two halves of every cast: to float32, and from there. Elements are little-endian, and need not be aligned; `in`
/// and `out` do not overlap.
struct CastKernels {
  void (*to_float32)(DType from, const std::byte* in, std::byte* out, std::size_t count);
  void (*from_float32)(DType to, const std::byte* in, std::byte* out, std::size_t count);
};

/// In plain C++. It says what every cast gives; the others agree with it to the bit, on every input.
extern const CastKernels portable_casts;

/// With AVX2 and F16C. Null where the machine, or the build, lacks them.
const CastKernels* avx2_casts();

}  // namespace ckpt
