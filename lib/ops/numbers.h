#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "ckpt/dtype.h"

namespace ckpt {

/// True for dtypes whose elements are numbers: not for bits, packed floats and the sub-byte shells, which are only
/// bits.
bool is_numeric(DType dtype);
/// True for int64 and uint64, whose values a double cannot hold.
bool needs_long_double(DType dtype);

/// Elements as numbers: two for each element (real, imaginary) where `complex`, else one. `T`: double, which holds
/// every value of every numeric dtype but the two above, or long double, which holds those too. Packed dtypes are given
/// unpacked, a byte an element (unpack()). `out` has room for all.
template <class T>
void to_numbers(DType dtype, std::span<const std::byte> elements, bool complex, T* out);

/// Element `index` of a packed byte (quint4x2, quint2x4), as a byte.
std::byte unpack(DType dtype, std::byte packed, std::size_t index);

/// One element as Python would print it: "0.5", "(1+2j)", "True"; bits that are no number as "0x1f". Packed ones: as in
/// to_numbers().
std::string element_text(DType dtype, std::span<const std::byte> element);
/// The element as a float of 64 bits prints: element_text() of float32 1.2 and float64 1.2 is the same. The real part.
std::string exact_text(DType dtype, std::span<const std::byte> element);

/// One element's bits: "0x7fc00000".
std::string bits_text(std::span<const std::byte> element);

}  // namespace ckpt
