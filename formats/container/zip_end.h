#pragma once

#include <cstdint>

#include "ckpt/byte_source.h"

namespace ckpt::zip {

/// What the end of central directory record says, ZIP64 resolved and checked against where things stand.
struct End {
  std::uint64_t directory_offset = 0;
  std::uint64_t directory_size = 0;
  std::uint64_t members = 0;
  /// Behind the end record and its comment.
  std::uint64_t archive_end = 0;
};

/// Searches the end record backward from the end of the source, as every reader does. A record counts only if the
/// directory it describes ends where the end records begin: so bytes after the archive do no harm, and a record
/// inside a comment, a member or that junk is not mistaken for the archive's.
/// Throws Error: truncated (there is none), corrupt (there are, and none fits), unsupported (several disks),
/// limit_exceeded, io.
End find_end(const ByteSource& source);

}  // namespace ckpt::zip
