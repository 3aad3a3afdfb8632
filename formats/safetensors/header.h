#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/dtype.h"
#include "format.h"

/// The header of a safetensors file: its length in 8 bytes, then JSON that says of each tensor its dtype, shape and
/// place in the bytes that follow (docs/formats/safetensors.md).
namespace ckpt::safetensors {

inline constexpr std::size_t length_size = 8;
inline constexpr std::string_view metadata_key = "__metadata__";

struct Entry {
  std::string name;
  DType dtype{};
  std::vector<std::int64_t> shape;   ///< as torch counts
  std::uint64_t begin = 0, end = 0;  ///< of its bytes, counted from Header::data_begin
  std::uint64_t position = 0;        ///< of its name in the file
  bool sound = true;                 ///< false: it has a place, and no more is known
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Header {
  std::vector<Entry> entries;  ///< in the order of their bytes
  Metadata metadata;
  std::uint64_t data_begin = 0;
  std::uint64_t data_end = 0;  ///< where the file should end
};

/// Whether a header may begin here: a length below 4 GiB, and an object.
bool begins_with_header(const ByteSource& source);

/// Reads the header and holds every place against the others: no hole, no overlap, no name twice, sizes as shapes say.
/// Faults of one tensor go to `context`; where that collects them, the tensor is left out.
/// Throws Error: corrupt, truncated, unsupported (a dtype that torch has not), limit_exceeded.
Header read_header(const ByteSource& source, const ReadContext& context);

/// The header as safetensors writes it, length and padding included, for tensors in this order; the place of each
/// begins where the one before it ends. Throws Error (limit_exceeded) where it is longer than readers take.
std::string make_header(const std::vector<Entry>& entries, const Metadata& metadata);

/// "tensor 'NAME'"
std::string tensor_called(std::string_view name);

}  // namespace ckpt::safetensors
