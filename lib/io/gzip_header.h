#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ckpt/error.h"
#include "io/compressed_input.h"

namespace ckpt {

/// RFC 1952, the flags of a member's header.
inline constexpr std::uint8_t gzip_header_crc = 0x02;
inline constexpr std::uint8_t gzip_extra = 0x04;
inline constexpr std::uint8_t gzip_name = 0x08;
inline constexpr std::uint8_t gzip_comment = 0x10;
inline constexpr std::uint8_t gzip_reserved = 0xe0;
/// Bytes of a header without optional fields, and of the trailer (CRC-32, ISIZE).
inline constexpr std::size_t gzip_header_bytes = 10;
inline constexpr std::size_t gzip_trailer_bytes = 8;

/// True where `bytes` begin with 1f 8b.
[[nodiscard]] bool has_gzip_magic(std::span<const std::byte> bytes);

/// That more comes out than `most` bytes.
[[nodiscard]] Error inflates_past(std::uint64_t most);

/// Goes past one member's header, which begins with 1f 8b. Optional fields are skipped, in whatever length they claim,
/// without being held; the header's CRC-16 is checked where there is one.
/// Throws Error: corrupt, unsupported (method), truncated.
void skip_gzip_header(CompressedInput& input);

}  // namespace ckpt
