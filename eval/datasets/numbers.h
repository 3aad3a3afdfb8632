#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ckpt/dtype.h"

namespace ckpt::eval {

/// float32, float64, float16 or bfloat16: what to_floats() takes.
bool is_float(DType dtype);

/// Little-endian numbers of a floating dtype as float, rounded to the nearest as torch's .float() does, or double.
/// Their number is out.size().
template <class T>
void to_floats(DType dtype, std::span<const std::byte> numbers, std::span<T> out);

/// Little-endian numbers of a dtype that is_integer(). What uint64 holds past 63 bits comes out negative.
void to_integers(DType dtype, std::span<const std::byte> numbers, std::span<std::int64_t> out);

}  // namespace ckpt::eval
