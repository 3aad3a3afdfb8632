#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/byte_sink.h"
#include "ckpt/checkpoint.h"
#include "numpy/header.h"
#include "ops/dense_tensor.h"

/// Arrays to tensors and back.
namespace ckpt::numpy {

/// The tensor that an array of this header is, with elements that follow it in `array` (a file, a zip's member).
TensorSource tensor_of(std::string name, const Header& header, const ByteSourcePtr& array);

/// A tensor to write, as an array.
struct OutArray {
  DenseTensor tensor;
  std::string header;
  std::uint64_t data_bytes = 0;
  TensorInfo placed;  ///< its elements in the order in which they are written
};

/// Every tensor under each of its names, in the file's order: one at least. Throws Error, naming the tensor:
/// unsupported (none, or what numpy has no array for), limit_exceeded; and what refuse_other_values() throws.
std::vector<OutArray> arrays_of(const Checkpoint& checkpoint);

/// Appends header and elements to `sink`. Returns the CRC-32 of the elements. Throws Error, naming the tensor: what
/// reading throws; and what the sink throws.
std::uint32_t write_array(const OutArray& array, const std::vector<Storage>& storages, ByteSink& sink);

}  // namespace ckpt::numpy
