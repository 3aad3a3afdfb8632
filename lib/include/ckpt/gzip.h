#pragma once

#include <cstdint>
#include <memory>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"
#include "ckpt/export.h"

namespace ckpt {

/// True where the source begins as a gzip member does (RFC 1952: magic 1f 8b, method 8, reserved flags zero).
/// Throws Error (io) where the source cannot be read; of what is damaged, the answer is "no".
CKPT_API bool is_gzip(const ByteSource& source);

/// The bytes inside a gzip file of one or many members. CRC-32 and length of each member are checked when reading
/// reaches its end. Zero padding after the last member is skipped; other bytes there end the stream, as
/// gzip_trailing_bytes() then says. Going back re-inflates from the nearest of at most 64 checkpoints (≈ 100 KiB each).
/// Throws Error (corrupt, truncated; limit_exceeded where more than `most` bytes come out, or where going back has it
/// inflated past limits::reinflated_cap) from read_at and size.
CKPT_API ByteSourcePtr gunzip(ByteSourcePtr compressed, std::uint64_t most = UINT64_MAX);

/// The bytes inside a gzip file that has an index, as gzip_sink() writes one (docs/formats/gzip.md): its size is known,
/// any part can be read without what stands before it, and reading forward uses all cores. Without an index, and where
/// `compressed` is none that several threads may read, this is gunzip().
/// The index is believed: each member that is read is checked against it, but of those that are not, nothing is known,
/// and gunzip() might see other bytes there. Throws Error as gunzip() does, and corrupt where a member is not as the
/// index says.
CKPT_API ByteSourcePtr gunzip_by_index(ByteSourcePtr compressed, std::uint64_t most = UINT64_MAX);

/// Bytes after the last member that are neither a member nor zero padding; 0 where none were met (yet).
/// `source` must come from gunzip().
CKPT_API std::uint64_t gzip_trailing_bytes(const ByteSource& source);

inline constexpr int gzip_default_level = 1;

struct GzipOptions {
  int level = gzip_default_level;  ///< 1 to 3 are ISA-L's, 4 to 9 zlib's
  /// What was compressed at another level already is copied as it is.
  bool copies = false;
  std::size_t threads = 0;  ///< that compress; 0: usable_cores(). The bytes are the same whatever it is.
};

/// Compresses what is written to `target`, which must outlive it: into members of 512 KiB, each for itself, mtime 0, no
/// name, and where there are several, an index of them at the end, which other readers skip. What is announced begins
/// with a new member; what is taken from a source of gunzip_by_index() is copied as it is, where it is whole members.
/// commit() ends the stream; it does not commit `target`. Throws Error: invalid_argument (level), io from the target.
CKPT_API std::unique_ptr<ByteSink> gzip_sink(ByteSink& target, const GzipOptions& options = {});

}  // namespace ckpt
