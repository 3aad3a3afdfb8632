#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/byte_source.h"
#include "container/zip_end.h"
#include "container/zip_reader.h"

namespace ckpt::zip {

/// One record of the central directory: the member, and what only checks need.
struct DirectoryEntry {
  ZipMember member;
  std::uint64_t position = 0;  ///< of the record in the file
  std::uint16_t flags = 0;
  std::uint32_t attributes = 0;  ///< external; the upper half is a Unix mode
};

/// Reads the central directory in one piece; ZIP64 extra fields are resolved. Checks only that the records themselves
/// make sense. Throws Error: corrupt, unsupported (several disks), io.
std::vector<DirectoryEntry> read_directory(const ByteSource& source, const End& end);

/// Refuses a name that check_name() refuses, and says where it stands. Throws Error (corrupt).
void check_path(const DirectoryEntry& entry);

/// Refuses a member that cannot be read: a link or device, encryption, an unknown method or flag, sizes that cannot
/// be. Throws Error: corrupt, unsupported, limit_exceeded.
void check_readable(const DirectoryEntry& entry);

/// Fields of a header that are all ones, so that a ZIP64 extra field gives their values; null: not this one.
struct WideFields {
  std::uint64_t* size = nullptr;
  std::uint64_t* compressed_size = nullptr;
  std::uint64_t* offset = nullptr;
  std::uint64_t* disk = nullptr;
};

/// Sets `wide` from the extra field at byte `position` of the file. Throws Error: corrupt, unsupported.
void resolve_extra(std::span<const std::byte> extra, const WideFields& wide, std::uint64_t position);

}  // namespace ckpt::zip
