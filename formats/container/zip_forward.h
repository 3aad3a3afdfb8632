#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"

/// A ZIP archive read from its first byte on, one local header after the other: for sources in which the directory, at
/// the end, cannot be reached without inflating all that comes before it, or is not there. Each function gives nothing
/// where the archive is not as plain as it has to be for that; what is right or wrong with it is then ZipReader's to
/// say.
namespace ckpt::zip {

/// A local header, whatever it says.
struct LocalHeader {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc32 = 0;
  /// None where a data descriptor follows the bytes and tells them.
  std::optional<std::uint64_t> size, compressed_size;
  std::uint64_t data_offset = 0;
  std::vector<std::byte> bytes;  ///< all of it
};

/// The header at `offset`, ZIP64 resolved; nothing where there is none, or not all of it. `signed_only`: its signature
/// has to be right. Throws Error: what reading the source throws.
std::optional<LocalHeader> read_local_header(const ByteSource& source, std::uint64_t offset, bool signed_only = true);

/// A member as its local header tells it.
struct ForwardMember {
  std::string name;
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;
  std::optional<std::uint64_t> size;  ///< none where a data descriptor follows the bytes
  std::uint32_t crc32 = 0;            ///< where `size` is told
  std::vector<std::byte> header;      ///< all of it
};

/// What stands behind a member's bytes.
struct ForwardEnd {
  std::uint32_t crc32 = 0;
  std::uint64_t next = 0;  ///< where another header begins, or the directory
};

/// The member whose header is at `offset`; nothing also for the directory, and for a member that is not stored as it
/// is. Throws Error: what reading the source throws.
std::optional<ForwardMember> read_forward_header(const ByteSource& source, std::uint64_t offset);

/// The end of a member of `size` bytes. Throws Error: what reading the source throws.
std::optional<ForwardEnd> read_forward_end(const ByteSource& source, const ForwardMember& member, std::uint64_t size);

/// The size of a small member that does not tell it: as many bytes as lie before a descriptor that fits them.
/// Throws Error: what reading the source throws.
std::optional<std::uint64_t> find_forward_size(const ByteSource& source, const ForwardMember& member);

}  // namespace ckpt::zip
