#include "io/gzip_index.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/gzip_header.h"

namespace ckpt {
namespace {

// An empty member with one subfield "CK" in its extra field (RFC 1952, 2.3.1.1), which holds either records of members
// or, in the last one, the footer.
constexpr std::array<unsigned char, 10> header{0x1f, 0x8b, 8, gzip_extra, 0, 0, 0, 0, 0, 0xff};
constexpr std::array<unsigned char, 2> subfield{'C', 'K'};
constexpr std::array<unsigned char, 10> empty_stream{3, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr std::size_t before_content = header.size() + 2 + 4;  // two lengths: of all subfields, of this one
constexpr std::size_t around_content = before_content + empty_stream.size();

constexpr std::size_t record_bytes = 12;
constexpr std::size_t records_at_once = 5460;  // as many as a subfield has room for

constexpr std::string_view footer_magic = "ckpt-gz1";
constexpr std::size_t footer_bytes = 40;

using Buffer = std::vector<std::byte>;

void append(Buffer& to, std::span<const unsigned char> bytes) {
  for (const unsigned char byte : bytes) to.push_back(static_cast<std::byte>(byte));
}

Buffer empty_member(std::span<const std::byte> content) {
  Buffer out;
  append(out, header);
  append_le(out, static_cast<std::uint16_t>(content.size() + 4));
  append(out, subfield);
  append_le(out, static_cast<std::uint16_t>(content.size()));
  out.insert(out.end(), content.begin(), content.end());
  append(out, empty_stream);
  return out;
}

/// The content of an empty member that `bytes` begin with; nothing where that is none.
std::optional<std::span<const std::byte>> content_of(std::span<const std::byte> bytes) {
  const auto is_at = [&](std::size_t offset, std::span<const unsigned char> wanted) {
    return std::memcmp(bytes.data() + offset, wanted.data(), wanted.size()) == 0;
  };
  if (bytes.size() < around_content || !is_at(0, header) || !is_at(header.size() + 2, subfield)) return std::nullopt;
  const std::size_t size = load_le<std::uint16_t>(bytes.data() + before_content - 2);
  const bool fits = bytes.size() >= around_content + size &&
                    load_le<std::uint16_t>(bytes.data() + header.size()) == size + 4 &&
                    is_at(before_content + size, empty_stream);
  return fits ? std::optional(bytes.subspan(before_content, size)) : std::nullopt;
}

struct Footer {
  std::uint64_t members = 0;
  std::uint64_t inflated = 0;    ///< bytes of all members
  std::uint64_t compressed = 0;  ///< … and where the index begins
  std::uint32_t records_crc32 = 0;
  std::uint32_t level = 0;
};

Buffer footer_content(const Footer& footer) {
  Buffer out;
  const auto magic = as_bytes(footer_magic);
  out.insert(out.end(), magic.begin(), magic.end());
  append_le(out, footer.members);
  append_le(out, footer.inflated);
  append_le(out, footer.compressed);
  append_le(out, footer.records_crc32);
  append_le(out, footer.level);
  return out;
}

std::optional<Footer> footer_of(std::span<const std::byte> content) {
  if (content.size() != footer_bytes || as_text(content.first(footer_magic.size())) != footer_magic)
    return std::nullopt;
  const std::byte* const at = content.data() + footer_magic.size();
  return Footer{load_le<std::uint64_t>(at), load_le<std::uint64_t>(at + 8), load_le<std::uint64_t>(at + 16),
                load_le<std::uint32_t>(at + 24), load_le<std::uint32_t>(at + 28)};
}

/// Of no bytes, of which none is written: nobody would read it, and so find out what it holds. What stored blocks add
/// to bytes that do not compress is below an eighth.
constexpr std::uint32_t least_compressed = gzip_header_bytes + 2 + gzip_trailer_bytes;
constexpr bool is_possible(const GzipMember& member) {
  return member.inflated > 0 && member.inflated <= gzip_block_bytes && member.compressed >= least_compressed &&
         member.compressed <= gzip_block_bytes + gzip_block_bytes / 8;
}

/// The records that `bytes`, the index up to its footer, hold.
std::optional<std::vector<GzipMember>> records_of(std::span<const std::byte> bytes, const Footer& footer) {
  std::vector<GzipMember> members;
  members.reserve(bytes.size() / record_bytes);
  std::uint32_t crc = 0;
  std::uint64_t compressed = 0, inflated = 0;
  while (!bytes.empty()) {
    const auto content = content_of(bytes);
    if (!content || content->empty() || content->size() % record_bytes != 0) return std::nullopt;
    crc = crc32(crc, *content);
    for (std::size_t at = 0; at < content->size(); at += record_bytes) {
      const std::byte* const from = content->data() + at;
      members.push_back(
          {load_le<std::uint32_t>(from), load_le<std::uint32_t>(from + 4), load_le<std::uint32_t>(from + 8)});
      if (!is_possible(members.back())) return std::nullopt;
      compressed += members.back().compressed;
      inflated += members.back().inflated;
    }
    bytes = bytes.subspan(around_content + content->size());
  }
  const bool agree = members.size() == footer.members && compressed == footer.compressed &&
                     inflated == footer.inflated && crc == footer.records_crc32;
  return agree ? std::optional(std::move(members)) : std::nullopt;
}

}  // namespace

std::optional<GzipIndex> read_gzip_index(const ByteSource& file, bool damaged) {
  constexpr std::size_t last_member = around_content + footer_bytes;
  if (!file.size_is_known() || file.size() < last_member) return std::nullopt;
  const std::uint64_t end = file.size() - last_member;
  std::array<std::byte, last_member> last{};
  file.read_exactly(end, last);
  const auto content = content_of(last);
  const auto footer = content ? footer_of(*content) : std::nullopt;
  if (!footer || footer->members > std::min(limits::gzip_members, end / record_bytes)) return std::nullopt;
  // What the records take, in members of their own.
  const std::uint64_t parts = (footer->members + records_at_once - 1) / records_at_once;
  const std::uint64_t records = footer->members * record_bytes + parts * around_content;
  if (records > end || footer->compressed > INT64_MAX) return std::nullopt;
  const auto shift = static_cast<std::int64_t>(end - records) - static_cast<std::int64_t>(footer->compressed);
  if (shift != 0 && !damaged) return std::nullopt;
  Buffer bytes(static_cast<std::size_t>(records));
  file.read_exactly(end - records, bytes);
  auto members = records_of(bytes, *footer);
  if (!members) return std::nullopt;
  return GzipIndex{std::move(*members), static_cast<int>(footer->level), shift};
}

void write_gzip_index(const GzipIndex& index, ByteSink& file) {
  Footer footer{.members = index.members.size(), .level = static_cast<std::uint32_t>(index.level)};
  for (std::size_t at = 0; at < index.members.size(); at += records_at_once) {
    Buffer content;
    const std::size_t end = std::min(index.members.size(), at + records_at_once);
    for (std::size_t i = at; i < end; ++i) {
      const GzipMember& member = index.members[i];
      append_le(content, member.compressed);
      append_le(content, member.inflated);
      append_le(content, member.crc32);
      footer.compressed += member.compressed;
      footer.inflated += member.inflated;
    }
    footer.records_crc32 = crc32(footer.records_crc32, content);
    file.write(empty_member(content));
  }
  file.write(empty_member(footer_content(footer)));
}

}  // namespace ckpt
