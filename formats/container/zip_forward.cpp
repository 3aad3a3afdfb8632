#include "container/zip_forward.h"

#include <span>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/zip_descriptor.h"
#include "container/zip_directory.h"
#include "container/zip_format.h"
#include "io/bytes.h"
#include "io/checksum.h"

namespace ckpt::zip {
namespace {

/// Records beside the storages (version, byteorder …) are a few dozen bytes.
constexpr std::size_t most_searched = 4 * limits::kib;

}  // namespace

std::optional<LocalHeader> read_local_header(const ByteSource& source, std::uint64_t offset, bool signed_only) {
  LocalHeader header;
  header.bytes.resize(local_size);
  if (source.read_at(offset, header.bytes) < local_size) return std::nullopt;
  const std::byte* const from = header.bytes.data();
  if (signed_only && load_le<std::uint32_t>(from) != local_signature) return std::nullopt;
  header.flags = load_le<std::uint16_t>(from + 6);
  header.method = load_le<std::uint16_t>(from + 8);
  header.crc32 = load_le<std::uint32_t>(from + 14);
  std::uint64_t compressed_size = load_le<std::uint32_t>(from + 18), size = load_le<std::uint32_t>(from + 22);
  const std::size_t name_size = load_le<std::uint16_t>(from + 26);
  const std::size_t rest = name_size + load_le<std::uint16_t>(from + 28);
  header.bytes.resize(local_size + rest);
  const auto behind = std::span(header.bytes).subspan(local_size);
  if (source.read_at(offset + local_size, behind) < rest) return std::nullopt;
  header.name = as_text(behind.first(name_size));
  header.data_offset = offset + local_size + rest;
  if ((header.flags & flag_descriptor) != 0) return header;
  try {
    WideFields wide;
    if (size == ones32) wide.size = &size;
    if (compressed_size == ones32) wide.compressed_size = &compressed_size;
    if (wide.size != nullptr || wide.compressed_size != nullptr)  // nothing else in it matters
      resolve_extra(behind.subspan(name_size), wide, offset + local_size + name_size);
  } catch (const Error&) {
    return std::nullopt;
  }
  header.size = size;
  header.compressed_size = compressed_size;
  return header;
}

std::optional<ForwardMember> read_forward_header(const ByteSource& source, std::uint64_t offset) {
  std::optional<LocalHeader> header = read_local_header(source, offset);
  if (!header || (header->flags & ~flags_known) != 0 || header->method != method_stored ||
      header->size != header->compressed_size)
    return std::nullopt;
  return ForwardMember{.name = std::move(header->name),
                       .header_offset = offset,
                       .data_offset = header->data_offset,
                       .size = header->size,
                       .crc32 = header->size ? header->crc32 : 0,
                       .header = std::move(header->bytes)};
}

std::optional<ForwardEnd> read_forward_end(const ByteSource& source, const ForwardMember& member, std::uint64_t size) {
  const auto end = checked_add(member.data_offset, size);
  if (!end) return std::nullopt;
  if (member.size) {
    if (*member.size != size) return std::nullopt;
    return ForwardEnd{member.crc32, *end};
  }
  const auto descriptor = read_descriptor(source, *end, size, size);
  if (!descriptor) return std::nullopt;
  return ForwardEnd{descriptor->crc32, *end + descriptor->length};
}

std::optional<std::uint64_t> find_forward_size(const ByteSource& source, const ForwardMember& member) {
  if (member.size) return member.size;
  std::vector<std::byte> bytes(most_searched);
  bytes.resize(source.read_at(member.data_offset, bytes));
  for (std::size_t size = 0; size + descriptor_minimum <= bytes.size(); ++size) {
    const auto descriptor = parse_descriptor(std::span<const std::byte>(bytes).subspan(size), size, size, true);
    if (descriptor && crc32(0, std::span(bytes).first(size)) == descriptor->crc32) return size;
  }
  return std::nullopt;
}

}  // namespace ckpt::zip
