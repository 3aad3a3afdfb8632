#include "container/zip_forward.h"

#include <algorithm>
#include <array>
#include <span>

#include "ckpt/limits.h"
#include "container/zip_format.h"
#include "io/bytes.h"
#include "io/checksum.h"

namespace ckpt::zip {
namespace {

/// Signature, CRC-32 and two sizes of 4 bytes, or of 8.
constexpr std::size_t narrow_descriptor = 16;
constexpr std::size_t wide_descriptor = 24;
constexpr std::size_t signature_size = 4;
/// Records beside the storages (version, byteorder …) are a few dozen bytes.
constexpr std::size_t most_searched = 4 * limits::kib;

bool is_signature(std::uint32_t value) {
  return value == local_signature || value == entry_signature || value == end_signature || value == end64_signature;
}

/// Bytes of the descriptor that `bytes` begin with and that says `size`; 0 where they do not. What follows it tells
/// the narrow form from the wide one.
std::size_t descriptor_length(std::span<const std::byte> bytes, std::uint64_t size) {
  if (bytes.size() < narrow_descriptor || load_le<std::uint32_t>(bytes.data()) != descriptor_signature) return 0;
  const auto fits = [&](std::size_t length, std::uint64_t compressed, std::uint64_t plain) {
    return bytes.size() >= length + signature_size && compressed == size && plain == size &&
           is_signature(load_le<std::uint32_t>(bytes.data() + length));
  };
  const std::byte* const sizes = bytes.data() + 8;
  if (fits(narrow_descriptor, load_le<std::uint32_t>(sizes), load_le<std::uint32_t>(sizes + 4)))
    return narrow_descriptor;
  if (bytes.size() >= wide_descriptor &&
      fits(wide_descriptor, load_le<std::uint64_t>(sizes), load_le<std::uint64_t>(sizes + 8)))
    return wide_descriptor;
  return 0;
}

}  // namespace

std::optional<ForwardMember> read_forward_header(const ByteSource& source, std::uint64_t offset) {
  ForwardMember member;
  member.header_offset = offset;
  member.header.resize(local_size);
  if (source.read_at(offset, member.header) < local_size) return std::nullopt;
  const std::byte* const from = member.header.data();
  const auto flags = load_le<std::uint16_t>(from + 6);
  const bool plain = load_le<std::uint32_t>(from) == local_signature && (flags & ~flags_known) == 0 &&
                     load_le<std::uint16_t>(from + 8) == method_stored;
  if (!plain) return std::nullopt;
  const std::size_t name_size = load_le<std::uint16_t>(from + 26);
  const std::size_t rest = name_size + load_le<std::uint16_t>(from + 28);
  const auto size = load_le<std::uint32_t>(from + 22);
  if ((flags & flag_descriptor) == 0) {
    if (size == ones32 || size != load_le<std::uint32_t>(from + 18)) return std::nullopt;
    member.size = size;
    member.crc32 = load_le<std::uint32_t>(from + 14);
  }
  member.header.resize(local_size + rest);
  const auto behind = std::span(member.header).subspan(local_size);
  if (source.read_at(offset + local_size, behind) < rest) return std::nullopt;
  member.name = as_text(behind.first(name_size));
  member.data_offset = offset + local_size + rest;
  return member;
}

std::optional<ForwardEnd> read_forward_end(const ByteSource& source, const ForwardMember& member, std::uint64_t size) {
  const auto end = checked_add(member.data_offset, size);
  if (!end) return std::nullopt;
  if (member.size) {
    if (*member.size != size) return std::nullopt;
    return ForwardEnd{member.crc32, *end};
  }
  std::array<std::byte, wide_descriptor + signature_size> bytes{};
  const std::size_t got = source.read_at(*end, bytes);
  const std::size_t length = descriptor_length(std::span(bytes).first(got), size);
  if (length == 0) return std::nullopt;
  return ForwardEnd{load_le<std::uint32_t>(bytes.data() + 4), *end + length};
}

std::optional<std::uint64_t> find_forward_size(const ByteSource& source, const ForwardMember& member) {
  if (member.size) return member.size;
  std::vector<std::byte> bytes(most_searched);
  bytes.resize(source.read_at(member.data_offset, bytes));
  for (std::size_t size = 0; size + narrow_descriptor <= bytes.size(); ++size) {
    const auto here = std::span<const std::byte>(bytes).subspan(size);
    if (descriptor_length(here, size) == 0) continue;
    if (crc32(0, std::span(bytes).first(size)) == load_le<std::uint32_t>(here.data() + 4)) return size;
  }
  return std::nullopt;
}

}  // namespace ckpt::zip
