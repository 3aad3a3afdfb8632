#pragma once

#include <string>
#include <string_view>

#include "ckpt/dtype.h"
#include "ckpt/storage.h"

/// numpy's names of dtypes, as npy headers have them: "<f4", "|u1", ">i8" (numpy/lib/format.py, dtype_to_descr).
namespace ckpt::numpy {

struct ArrayType {
  DType dtype{};
  ByteOrder byte_order = ByteOrder::little;
};

/// Throws Error: unsupported (a dtype that torch has not, called by what it is), corrupt (none of numpy's).
ArrayType parse_descr(std::string_view descr);

/// Bytes of an element of any dtype that numpy writes so: "<U3", "<M8[ns]", "|V5", too. Throws Error (unsupported):
/// objects, and names that numpy knows and does not write.
std::uint64_t item_bytes(std::string_view descr);

/// What numpy calls it, in little-endian; empty for a dtype that numpy has not.
std::string descr_of(DType dtype);

}  // namespace ckpt::numpy
