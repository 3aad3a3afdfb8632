#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/byte_source.h"
#include "container/zip_directory.h"

namespace ckpt::zip {

/// Reads local headers, and the data descriptors between them, in the order of the file. What lies close together is
/// read through one window, what is far alone: a few dozen bytes a member, never the data between.
class LocalHeaders {
 public:
  /// `entries` are sorted by header offset and outlive this; `directory_offset` is where member data must have ended.
  /// Headers that `seen` holds are not read again.
  LocalHeaders(const ByteSource& source, const std::vector<DirectoryEntry>& entries, std::uint64_t directory_offset,
               const SeenHeaders* seen);

  /// Where the data of entry `index` starts. Entries are asked for in ascending order.
  /// Throws Error: corrupt (there is no header), io.
  std::uint64_t locate(std::size_t index);

  /// Compares the header with the directory. Throws Error: corrupt, unsupported (an extra field), io.
  void compare(std::size_t index);

  /// Compares the data descriptor, where the flags announce one, with the directory. Throws Error: corrupt, io.
  void compare_end(std::size_t index);

 private:
  /// At least the fixed part and name of entry `index`'s header, if the file has them before the directory.
  std::span<const std::byte> header(std::size_t index);
  /// The bytes in [from, end), and what stands behind them in the window, which reaches over the headers of entry
  /// `next` and those that follow it closely.
  std::span<const std::byte> bytes_at(std::uint64_t from, std::uint64_t end, std::size_t next);

  const ByteSource& source_;
  const std::vector<DirectoryEntry>& entries_;
  std::uint64_t limit_;
  const SeenHeaders* seen_;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;
};

/// The first byte behind a member's data and, where it has one, its shortest possible data descriptor.
/// Throws Error (corrupt) where that lies behind `limit`.
std::uint64_t data_end(const DirectoryEntry& entry, std::uint64_t limit);

}  // namespace ckpt::zip
