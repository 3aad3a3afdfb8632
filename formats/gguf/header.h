#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/storage.h"
#include "gguf/types.h"

namespace ckpt::gguf {

struct TensorEntry {
  std::string name;
  const TensorType* type = nullptr;
  std::vector<std::int64_t> shape;  ///< in elements, the last index running fastest: the file's own order reversed
  std::uint64_t offset = 0;         ///< of its bytes in the file
  std::uint64_t nbytes = 0;
};

/// All that stands before the tensors.
struct Header {
  ByteOrder byte_order = ByteOrder::little;
  std::uint64_t alignment = 32;
  std::uint64_t data_begin = 0, data_end = 0;  ///< where the first tensor may begin, and the last one ends
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> warnings;
  std::vector<TensorEntry> tensors;
};

/// Reads at most `limit` bytes of header. No tensor overlaps another, though it may lie past the end of the file.
/// Throws Error: corrupt, truncated, unsupported (a version, or a tensor's type), limit_exceeded.
Header read_header(const ByteSource& source, std::uint64_t limit);

}  // namespace ckpt::gguf
