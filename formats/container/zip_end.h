#pragma once

#include <cstdint>
#include <optional>

#include "ckpt/byte_source.h"
#include "ckpt/limits.h"

namespace ckpt::zip {

/// What the end of central directory record says, ZIP64 resolved and checked against where things stand.
struct End {
  std::uint64_t directory_offset = 0;
  std::uint64_t directory_size = 0;
  std::uint64_t members = 0;
  /// Behind the end record and its comment.
  std::uint64_t archive_end = 0;
};

/// Searches the end record backward from the end of the source. The last one decides, as it does for torch and for
/// Python: to go on to an earlier one where the last does not fit would show one archive where they load another.
/// It fits only if the directory it describes ends where the end records begin.
/// A directory of more than `directory_cap` bytes is refused.
/// Throws Error: truncated (there is none), corrupt (it does not fit), unsupported (several disks), limit_exceeded, io.
End find_end(const ByteSource& source, std::uint64_t directory_cap = limits::zip_directory_bytes);

/// The same of a damaged file, into which bytes were put or from which some are gone: the directory right in front of
/// an end record that ends the file, wherever that says it is. What it says of offsets is wrong. None: there is no such
/// end record. Throws Error: limit_exceeded, io.
std::optional<End> find_moved_end(const ByteSource& source, std::uint64_t directory_cap);

/// Whether one of zip_format.h's signatures stands there. Throws Error: io.
bool has_signature(const ByteSource& source, std::uint64_t at, std::uint32_t signature);

/// Where an archive begins that some reader finds by the last end record, right or wrong: 0 where its directory stands
/// where that says (or a ZIP64 record might), else in front of the record, with offsets that count from there. miniz
/// looks for the record somewhat farther back than there may be a comment. None: there is no such directory.
/// Throws Error: io.
std::optional<std::uint64_t> find_begin(const ByteSource& source);

}  // namespace ckpt::zip
