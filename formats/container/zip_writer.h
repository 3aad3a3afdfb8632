#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"

namespace ckpt {

/// Writes a ZIP archive forward only, as torch's own writer does (caffe2/serialize/inline_container.cc): members
/// stored, sizes and CRC-32 in a data descriptor after the data, flags 0x0808, each member's data at a multiple of
/// `alignment` from the archive's start by an extra field "FB" of 'Z's (of its half, where the field would be longer
/// than 65535 bytes), ZIP64 where a size, an offset or the count needs it.
///
///     ZipWriter zip(sink, 64);
///     zip.add("archive/version", bytes);
///     zip.add("archive/data/0", *storage.bytes);
///     zip.finish();
class ZipWriter {
 public:
  /// `sink` must outlive the writer; it need not be at offset 0. Throws Error (invalid_argument) for an alignment of
  /// more than 65536.
  explicit ZipWriter(ByteSink& sink, std::uint32_t alignment = 64);

  /// Adds a member. Returns its CRC-32.
  std::uint32_t add(std::string_view name, std::span<const std::byte> bytes);
  /// Adds a member of `size` bytes, which `produce` appends to the sink it is given; it returns their CRC-32. Throws
  /// Error (truncated) where they come to another number.
  using Produce = std::function<std::uint32_t(ByteSink&)>;
  std::uint32_t add(std::string_view name, std::uint64_t size, const Produce& produce);
  /// Adds a member, streaming; compares the source's recorded CRC-32, if any, with what was read (corrupt).
  std::uint32_t add(std::string_view name, const ByteSource& bytes);

  /// Writes the central directory. Called once, last.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint64_t header_offset = 0;
    std::uint64_t size = 0;
    std::uint32_t crc32 = 0;
  };

  void begin(std::string_view name, std::uint64_t size);
  void end(std::uint32_t crc32);
  void write_directory();
  void write_end(std::uint64_t directory_offset, std::uint64_t directory_size);

  ByteSink& sink_;
  std::uint64_t start_;
  std::uint32_t alignment_;
  std::vector<Entry> entries_;
};

}  // namespace ckpt
