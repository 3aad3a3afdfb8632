#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"
#include "ckpt/export.h"

/// The bytes of a source, read forward. All return the CRC-32 of what was read, and throw what reading throws.
namespace ckpt {

/// Whether the next bytes of many are read, and their CRC-32 taken, on a thread of their own while those before are
/// consumed: not where each core has such work already.
enum class ReadAhead : bool { no, yes };

/// Hands the bytes from `begin` on, `size` of them (UINT64_MAX: to the end), to `consume` in order, which must not read
/// what may share a file with `source` where those are read ahead. What reading throws comes after all that was read
/// before it.
CKPT_API std::uint32_t stream_range(const ByteSource& source, std::uint64_t begin, std::uint64_t size,
                                    const std::function<void(std::span<const std::byte>)>& consume, ReadAhead ahead);

/// … of all of it. Throws Error (corrupt, naming the source and both values) where the source records another CRC-32,
/// after everything has been consumed.
CKPT_API std::uint32_t stream_all(const ByteSource& source,
                                  const std::function<void(std::span<const std::byte>)>& consume,
                                  ReadAhead ahead = ReadAhead::yes);

/// Reads all of it, for its own checks. Throws as stream_all() does.
CKPT_API std::uint32_t check_all(const ByteSource& source);

/// Appends the bytes from `begin` on, `size` of them (UINT64_MAX: to the end), to `sink`: they are read into its room.
CKPT_API std::uint32_t copy_range(const ByteSource& source, std::uint64_t begin, std::uint64_t size, ByteSink& sink);

/// … all of it. Throws Error (corrupt) as stream_all() does, after everything has been appended.
CKPT_API std::uint32_t copy_all(const ByteSource& source, ByteSink& sink);

}  // namespace ckpt
