#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_source.h"
#include "numpy/dtypes.h"

/// The header of an npy file: "\x93NUMPY", a version, a length, and a line of Python that says what follows
/// (numpy/lib/format.py; docs/formats/npz.md).
namespace ckpt::numpy {

inline constexpr std::string_view magic = "\x93NUMPY";

struct Header {
  ArrayType type;
  bool fortran_order = false;  ///< the first index runs fastest
  std::vector<std::int64_t> shape;
  std::uint64_t size = 0;        ///< of the header itself: where the elements begin
  std::uint32_t crc32 = 0;       ///< of the header itself
  std::uint64_t data_bytes = 0;  ///< of the elements
};

/// Reads the header that `source` begins with. The line is parsed, never evaluated.
/// Throws Error: corrupt, truncated, unsupported (a dtype that no tensor has, a later version), limit_exceeded.
Header read_header(const ByteSource& source);

/// Where an array ends that `source` begins with, of any dtype that numpy writes without a pickle: texts, dates and
/// records, too. Throws Error: as read_header().
std::uint64_t find_end(const ByteSource& source);

/// Of an array of that shape, of elements of `item` bytes; none where they are 2^63 or more, or would be if its
/// dimensions of 0 were 1: numpy has no such array.
std::optional<std::uint64_t> array_bytes(std::uint64_t item, const std::vector<std::int64_t>& shape);

/// The header that numpy.save writes, byte for byte; its size is a multiple of 64. `dtype` is one that descr_of()
/// knows.
std::string make_header(DType dtype, bool fortran_order, const std::vector<std::int64_t>& shape);

/// In elements, of an array in C's order or in Fortran's.
std::vector<std::int64_t> strides_of(const Header& header);

}  // namespace ckpt::numpy
