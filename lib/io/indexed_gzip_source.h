#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "io/faults.h"
#include "io/gzip_index.h"

namespace ckpt {

/// Members of a file, one after the other, that hold just the bytes that were asked for.
struct GzipRun {
  const ByteSource* file = nullptr;  ///< compressed
  std::uint64_t begin = 0;           ///< of the first member in it
  std::span<const GzipMember> members;
  int level = 0;  ///< GzipIndex::level
};

/// The members that hold `size` bytes of `source` from `begin` on, where it is from gunzip_by_index(), by its
/// index, or a slice of that, and those bytes are whole members.
std::optional<GzipRun> gzip_run(const ByteSource& source, std::uint64_t begin, std::uint64_t size);

/// Reads the compressed bytes of a run's member, which stands at `begin` of its file, into the front of `bytes`. What
/// the index tells of it is checked; one in which another member may begin is inflated. For any number of threads.
/// Throws Error: corrupt, truncated, io.
void read_gzip_member(const GzipRun& run, std::uint64_t begin, const GzipMember& member, std::vector<std::byte>& bytes);

/// The index of a file that members are to be read of by several threads; nothing where it has none, or they may not.
/// `damaged`: as of read_gzip_index(). Throws Error: io.
std::optional<GzipIndex> index_to_read_by(const ByteSource& file, bool damaged = false);

/// gunzip_damaged() by the file's index, all of which has been read once.
ByteSourcePtr gunzip_damaged_by(GzipIndex index, ByteSourcePtr compressed, const Faults& faults, std::uint64_t most);

/// Reads every member of a file that has an index, as read_gzip_member() does, and reports what is corrupt, of very
/// many how many; nothing of any other file. Throws Error: io, truncated.
void check_gzip_members(const ByteSource& file, const std::function<void(const Error&)>& report);

}  // namespace ckpt
