#include "container/zip_local.h"

#include <algorithm>
#include <span>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "container/zip_descriptor.h"
#include "container/zip_format.h"
#include "io/bytes.h"

namespace ckpt::zip {
namespace {

/// Reading this much more is cheaper than another call.
constexpr std::uint64_t close_by = 4 * limits::kib;
constexpr std::uint64_t window_size = 64 * limits::kib;

std::uint64_t header_end(const DirectoryEntry& entry, std::uint64_t limit) {
  const std::uint64_t size = local_size + entry.member.name.size();
  return in_bounds(entry.member.header_offset, size, limit) ? entry.member.header_offset + size : limit;
}

struct Sizes {
  std::uint64_t size, compressed_size;
};

// With a data descriptor to come, a local header may leave its values open: 0, or all ones.
bool agrees(std::uint64_t local, std::uint64_t directory, std::uint64_t ones, bool deferred) {
  return local == directory || (deferred && (local == 0 || local == ones));
}

}  // namespace

LocalHeaders::LocalHeaders(const ByteSource& source, const std::vector<DirectoryEntry>& entries,
                           std::uint64_t directory_offset, const SeenHeaders* seen)
    : source_(source), entries_(entries), limit_(directory_offset), seen_(seen) {}

std::span<const std::byte> LocalHeaders::header(std::size_t index) {
  const std::uint64_t from = entries_[index].member.header_offset;
  if (from >= limit_) return {};
  if (seen_ != nullptr)
    if (const auto header = seen_->find(from); !header.empty()) return header;
  return bytes_at(from, header_end(entries_[index], limit_), index + 1);
}

std::span<const std::byte> LocalHeaders::bytes_at(std::uint64_t from, std::uint64_t end, std::size_t next) {
  const bool inside = from >= window_offset_ && end <= window_offset_ + window_.size();
  if (!inside || window_.empty()) {
    for (; next < entries_.size(); ++next) {
      const std::uint64_t following = header_end(entries_[next], limit_);
      if (following > from + window_size || following > end + close_by) break;
      end = std::max(end, following);
    }
    window_.resize(end - from);
    window_offset_ = from;
    source_.read_exactly(from, window_);
  }
  return std::span<const std::byte>(window_).subspan(from - window_offset_);
}

std::uint64_t LocalHeaders::locate(std::size_t index) {
  const ZipMember& member = entries_[index].member;
  const std::uint64_t at = member.header_offset;
  const std::span<const std::byte> bytes = header(index);
  if (bytes.size() < local_size || load_le<std::uint32_t>(bytes.data()) != local_signature)
    throw corrupt("no local header of member " + quoted_name(member.name), at)
        .expected("it where the directory points");
  const std::uint64_t data =
      at + local_size + load_le<std::uint16_t>(bytes.data() + 26) + load_le<std::uint16_t>(bytes.data() + 28);
  if (data > limit_)
    throw corrupt("the local header of member " + quoted_name(member.name) + " reaches into the directory", at);
  return data;
}

void LocalHeaders::compare(std::size_t index) {
  const DirectoryEntry& entry = entries_[index];
  const ZipMember& member = entry.member;
  const std::uint64_t at = member.header_offset;
  const auto who = [&] { return "member " + quoted_name(member.name); };
  const std::span<const std::byte> bytes = header(index);
  const std::byte* from = bytes.data();
  const std::size_t name_size = load_le<std::uint16_t>(from + 26);
  const bool same_name =
      name_size == member.name.size() && as_text(bytes.subspan(local_size, name_size)) == member.name;
  if (!same_name)
    throw corrupt("another name in the local header of " + who(), at + local_size).expected("the directory's");
  const auto flags = load_le<std::uint16_t>(from + 6);
  if (flags != entry.flags)
    throw corrupt("flags " + std::to_string(flags) + " in the local header of " + who(), at + 6)
        .expected(std::to_string(entry.flags) + " as in the directory");
  const auto method = load_le<std::uint16_t>(from + 8);
  if (method != member.method)
    throw corrupt("method " + std::to_string(method) + " in the local header of " + who(), at + 8)
        .expected(std::to_string(member.method) + " as in the directory");

  const bool deferred = (flags & flag_descriptor) != 0;
  const auto crc = load_le<std::uint32_t>(from + 14);
  if (!agrees(crc, member.crc32, ones32, deferred))
    throw corrupt("CRC-32 " + std::to_string(crc) + " in the local header of " + who(), at + 14)
        .expected(std::to_string(member.crc32) + " as in the directory");
  Sizes local{load_le<std::uint32_t>(from + 22), load_le<std::uint32_t>(from + 18)};
  if (!deferred && (local.size == ones32 || local.compressed_size == ones32)) {
    std::vector<std::byte> extra(load_le<std::uint16_t>(from + 28));
    source_.read_exactly(at + local_size + name_size, extra);
    WideFields wide;
    if (local.size == ones32) wide.size = &local.size;
    if (local.compressed_size == ones32) wide.compressed_size = &local.compressed_size;
    resolve_extra(extra, wide, at + local_size + name_size);
  }
  if (!agrees(local.size, member.size, ones32, deferred))
    throw corrupt("size " + std::to_string(local.size) + " in the local header of " + who(), at + 22)
        .expected(std::to_string(member.size) + " as in the directory");
  if (!agrees(local.compressed_size, member.compressed_size, ones32, deferred))
    throw corrupt("compressed size " + std::to_string(local.compressed_size) + " in the local header of " + who(),
                  at + 18)
        .expected(std::to_string(member.compressed_size) + " as in the directory");
}

void LocalHeaders::compare_end(std::size_t index) {
  const DirectoryEntry& entry = entries_[index];
  const ZipMember& member = entry.member;
  const std::uint64_t at = member.data_offset + member.compressed_size;
  if ((entry.flags & flag_descriptor) == 0 || (seen_ != nullptr && at < seen_->ends_passed())) return;
  const std::span<const std::byte> bytes = bytes_at(at, std::min(limit_, at + wide_descriptor), index + 1);
  const auto found = parse_descriptor(bytes.first(std::min<std::size_t>(bytes.size(), limit_ - at)),
                                      member.compressed_size, member.size, /*followed=*/false);
  if (!found)
    throw corrupt("no data descriptor behind member " + quoted_name(member.name), at)
        .expected("its CRC-32 and " + std::to_string(member.size) + " bytes, as in the directory");
  if (found->crc32 != member.crc32)
    throw corrupt(
        "CRC-32 " + std::to_string(found->crc32) + " in the data descriptor of member " + quoted_name(member.name), at)
        .expected(std::to_string(member.crc32) + " as in the directory");
}

std::uint64_t data_end(const DirectoryEntry& entry, std::uint64_t limit) {
  const ZipMember& member = entry.member;
  const std::uint64_t descriptor = (entry.flags & flag_descriptor) != 0 ? descriptor_minimum : 0;
  const auto size = checked_add(member.compressed_size, descriptor);
  if (!size || !in_bounds(member.data_offset, *size, limit))
    throw corrupt("member " + quoted_name(member.name) + " of " + std::to_string(member.compressed_size) +
                      " bytes reaches into the directory",
                  member.data_offset)
        .expected("at most " + std::to_string(limit - std::min(limit, member.data_offset)) + " bytes");
  return member.data_offset + *size;
}

}  // namespace ckpt::zip
