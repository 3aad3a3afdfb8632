#pragma once

#include <cstddef>
#include <span>

#include "ckpt/dtype.h"
#include "ops/cast_kernels.h"

namespace ckpt {

/// float64, float32, float16, bfloat16, float8_e4m3fn and float8_e5m2: what floating elements may be cast to.
bool is_cast_target(DType dtype);

/// The fastest that the machine has.
const CastKernels& best_casts();

/// Casts the in.size() / dtype_size(from) elements of `in`, little-endian both; `out` has room for them. `from` is
/// floating, `to` a cast target.
///
/// The result is that of PyTorch 2.11's `.to()` on a CPU, to the bit, on every machine:
/// - to the nearest, ties to even; subnormal numbers are numbers;
/// - float64 becomes float32 before it becomes anything smaller, and is rounded twice, as c10's classes are made of
///   a float;
/// - what is too large becomes infinity, or NaN in float8_e4m3fn, which has none;
/// - a NaN keeps its sign, and the upper bits of its payload where the format has room for one, and becomes quiet.
///   bfloat16 has c10's 0x7FC0 for every NaN.
/// PyTorch's vector code, which contiguous tensors meet, differs from its scalar code in two kinds of NaN: as bfloat16
/// it is 0xFFFF; as float32, of float16, 0x7FFFFFFF in the last elements, which fill no vector. Here it is the scalar.
/// `from` = `to` changes no bit.
void cast_elements(DType from, DType to, std::span<const std::byte> in, std::span<std::byte> out,
                   const CastKernels& kernels = best_casts());

}  // namespace ckpt
