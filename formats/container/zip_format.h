#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ckpt/error.h"

/// The numbers of the ZIP format (APPNOTE 6.3.10) that the reader and the writer share.
namespace ckpt::zip {

inline constexpr std::uint32_t local_signature = 0x04034b50;       // "PK\3\4", APPNOTE 4.3.7
inline constexpr std::uint32_t descriptor_signature = 0x08074b50;  // "PK\7\8", 4.3.9
inline constexpr std::uint32_t entry_signature = 0x02014b50;       // "PK\1\2", 4.3.12
inline constexpr std::uint32_t end64_signature = 0x06064b50;       // "PK\6\6", 4.3.14
inline constexpr std::uint32_t locator_signature = 0x07064b50;     // "PK\6\7", 4.3.15
inline constexpr std::uint32_t end_signature = 0x06054b50;         // "PK\5\6", 4.3.16

inline constexpr std::size_t signature_size = 4;
/// Bytes of each record's fixed part.
inline constexpr std::size_t local_size = 30;
inline constexpr std::size_t entry_size = 46;
inline constexpr std::size_t end64_size = 56;
inline constexpr std::size_t locator_size = 20;
inline constexpr std::size_t end_size = 22;
/// The shortest data descriptor: no signature, 32-bit sizes.
inline constexpr std::uint64_t descriptor_minimum = 12;
/// Signature, CRC-32 and two sizes of 4 bytes, or of 8: the longest.
inline constexpr std::size_t narrow_descriptor = 16, wide_descriptor = 24;
/// The longest archive comment, and so how far from the end of a file its end record may stand.
inline constexpr std::size_t comment_maximum = 0xffff;

inline constexpr std::uint16_t flag_encrypted = 1U << 0;
inline constexpr std::uint16_t flag_descriptor = 1U << 3;
inline constexpr std::uint16_t flag_strong_encryption = 1U << 6;
inline constexpr std::uint16_t flag_utf8 = 1U << 11;
inline constexpr std::uint16_t flag_masked = 1U << 13;
/// Bits 1 and 2 only tell how hard deflate tried.
inline constexpr std::uint16_t flags_known = (1U << 1) | (1U << 2) | flag_descriptor | flag_utf8;

inline constexpr std::uint16_t method_stored = 0;
inline constexpr std::uint16_t method_deflated = 8;

inline constexpr std::uint16_t extra_zip64 = 0x0001;
inline constexpr std::uint16_t extra_unicode_path = 0x7075;
/// What torch pads local headers with.
inline constexpr std::uint16_t extra_padding = 0x4246;  // "FB"

/// A 32-bit (16-bit) field of all ones says: look in the ZIP64 extra field (record).
inline constexpr std::uint32_t ones32 = 0xffffffff;
inline constexpr std::uint16_t ones16 = 0xffff;

/// An archive that contradicts itself at byte `at`.
Error corrupt(std::string found, std::uint64_t at);

}  // namespace ckpt::zip
