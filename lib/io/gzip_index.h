#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"

namespace ckpt {

/// A gzip member of a file that has an index.
struct GzipMember {
  std::uint32_t compressed = 0;  ///< bytes, header and trailer included
  std::uint32_t inflated = 0;    ///< bytes
  std::uint32_t crc32 = 0;       ///< of the compressed bytes
};

/// Where each member of a gzip file begins, so that any of them can be inflated, or copied as it is, without those
/// before it. It stands at the end of the file, in the extra fields of empty members, which every reader of gzip skips:
/// docs/formats/gzip.md has the layout.
struct GzipIndex {
  std::vector<GzipMember> members;  ///< one after the other from the file's first byte on
  int level = 0;                    ///< that they were compressed at; 0: at several
  std::int64_t shift = 0;           ///< bytes that damage has added before the index; negative: has taken away
};

/// Bytes that one member of such a file holds at most, inflated.
inline constexpr std::uint32_t gzip_block_bytes = 512 * 1024;

/// The index at the end of `file`, where its numbers agree with each other and with the file's size; else nothing. Of a
/// `damaged` file the size may be another. Throws Error: io.
std::optional<GzipIndex> read_gzip_index(const ByteSource& file, bool damaged = false);

/// Appends the index of the members that `file` has got.
void write_gzip_index(const GzipIndex& index, ByteSink& file);

}  // namespace ckpt
