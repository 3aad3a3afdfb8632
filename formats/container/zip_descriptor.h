#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ckpt/byte_source.h"

namespace ckpt::zip {

/// What stands in a data descriptor (APPNOTE 4.3.9), behind the bytes of a member whose local header leaves it open.
struct Descriptor {
  std::uint32_t crc32 = 0;
  std::uint64_t size = 0;
  std::size_t length = 0;  ///< its own: 12 to 24 bytes, by whether it has a signature and how wide its sizes are
};

/// The descriptor that `bytes` begin with, of a member of `compressed_size` bytes and, where that is known, `size`
/// bytes inflated: of the four forms the one whose sizes are these, and behind which a record or the end of `bytes` is.
/// `followed`: one of them has to be there.
std::optional<Descriptor> parse_descriptor(std::span<const std::byte> bytes, std::uint64_t compressed_size,
                                           std::optional<std::uint64_t> size, bool followed);

/// The same, `offset` bytes into a source. Throws Error: what reading the source throws.
std::optional<Descriptor> read_descriptor(const ByteSource& source, std::uint64_t offset, std::uint64_t compressed_size,
                                          std::optional<std::uint64_t> size, bool followed = true);

}  // namespace ckpt::zip
