#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/deflater.h"
#include "io/gzip_index.h"

namespace ckpt {

/// Puts a member that holds all of `bytes` into `out`, from its first byte on, and says what it is. Its header has no
/// optional fields, and nothing of the machine or the day: the same bytes give the same member.
GzipMember write_gzip_member(std::span<const std::byte> bytes, Deflater& deflater, std::vector<std::byte>& out);

/// Inflates a member as write_gzip_member() makes them into `out`, as large as what it holds; `begin` is where it
/// stands in its file. Throws Error (corrupt): it is no such member, holds another number of bytes, does not end where
/// `member` does, or its sums do not match.
void inflate_gzip_member(std::span<const std::byte> member, std::span<std::byte> out, std::uint64_t begin);

/// Of a member that inflate_gzip_member() refuses, into `out`: what can be inflated of it, and zeros. True where that
/// has the sums that the member records, so that something else of it is damaged.
bool salvage_gzip_member(std::span<const std::byte> member, std::span<std::byte> out);

/// False where it has not the header of those that write_gzip_member() makes, or another one may begin within it: then
/// a reader that goes by the bytes alone may see more there than inflate_gzip_member() does.
bool is_plain_gzip_member(std::span<const std::byte> member);

/// What the last bytes of a member say of what it holds.
struct GzipTrailer {
  std::uint32_t crc32 = 0;
  std::uint32_t inflated = 0;  ///< bytes, modulo 2^32
};
GzipTrailer gzip_trailer(std::span<const std::byte> member);

}  // namespace ckpt
