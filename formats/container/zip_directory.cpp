#include "container/zip_directory.h"

#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "container/zip_format.h"
#include "container/zip_names.h"
#include "io/bytes.h"

namespace ckpt::zip {
namespace {

// The fixed part of a record starts at `from`; name, extra field and comment follow it in the same buffer.
DirectoryEntry parse(const std::byte* from, std::uint64_t position) {
  DirectoryEntry entry;
  entry.position = position;
  entry.flags = load_le<std::uint16_t>(from + 8);
  entry.attributes = load_le<std::uint32_t>(from + 38);
  ZipMember& member = entry.member;
  member.method = load_le<std::uint16_t>(from + 10);
  member.crc32 = load_le<std::uint32_t>(from + 16);
  member.compressed_size = load_le<std::uint32_t>(from + 20);
  member.size = load_le<std::uint32_t>(from + 24);
  member.header_offset = load_le<std::uint32_t>(from + 42);
  std::uint64_t disk = load_le<std::uint16_t>(from + 34);

  const std::size_t name_size = load_le<std::uint16_t>(from + 28);
  const std::size_t extra_size = load_le<std::uint16_t>(from + 30);
  member.name = as_text({from + entry_size, name_size});
  WideFields wide;
  if (member.size == ones32) wide.size = &member.size;
  if (member.compressed_size == ones32) wide.compressed_size = &member.compressed_size;
  if (member.header_offset == ones32) wide.offset = &member.header_offset;
  if (disk == ones16) wide.disk = &disk;
  resolve_extra({from + entry_size + name_size, extra_size}, wide, position + entry_size + name_size);
  if (disk != 0)
    throw Error(ErrorCode::unsupported, "member " + quoted_name(member.name) + " lies on disk " + std::to_string(disk))
        .expected("an archive in one file")
        .at(position + 34);
  return entry;
}

}  // namespace

void resolve_extra(std::span<const std::byte> extra, const WideFields& wide, std::uint64_t position) {
  bool seen = false;
  // Fewer than four bytes at the end cannot be a field; zipalign leaves such.
  for (std::size_t next = 0; extra.size() - next >= 4;) {
    const auto id = load_le<std::uint16_t>(extra.data() + next);
    const std::size_t length = load_le<std::uint16_t>(extra.data() + next + 2);
    if (length > extra.size() - next - 4)
      throw corrupt("an extra field of " + std::to_string(length) + " bytes", position + next)
          .expected("at most the " + std::to_string(extra.size() - next - 4) + " that are left");
    if (id == extra_unicode_path)
      throw Error(ErrorCode::unsupported, "a member with a second name (Unicode path extra field)")
          .expected("one name, for readers take either")
          .at(position + next);
    if (id == extra_zip64) {
      if (std::exchange(seen, true)) throw corrupt("a second ZIP64 extra field", position + next).expected("one");
      std::span<const std::byte> values = extra.subspan(next + 4, length);
      const auto take = [&](std::uint64_t* value, std::size_t width) {
        if (value == nullptr) return;
        if (values.size() < width)
          throw corrupt("a ZIP64 extra field of " + std::to_string(length) + " bytes", position + next)
              .expected("a value for each field that is all ones");
        *value = width == 8 ? load_le<std::uint64_t>(values.data()) : load_le<std::uint32_t>(values.data());
        values = values.subspan(width);
      };
      take(wide.size, 8);
      take(wide.compressed_size, 8);
      take(wide.offset, 8);
      take(wide.disk, 4);
    }
    next += 4 + length;
  }
  if (!seen && (wide.size || wide.compressed_size || wide.offset || wide.disk))
    throw corrupt("a size, offset or disk of all ones", position).expected("a ZIP64 extra field that gives it");
}

std::vector<DirectoryEntry> read_directory(const ByteSource& source, const End& end) {
  if (end.members > end.directory_size / entry_size)
    throw corrupt("a directory of " + std::to_string(end.directory_size) + " bytes for " + std::to_string(end.members) +
                      " members",
                  end.directory_offset)
        .expected("46 bytes a member at least");
  std::vector<std::byte> bytes(end.directory_size);
  source.read_exactly(end.directory_offset, bytes);

  std::vector<DirectoryEntry> entries;
  entries.reserve(end.members);
  std::size_t next = 0;
  for (std::uint64_t i = 0; i < end.members; ++i) {
    const std::byte* from = bytes.data() + next;
    const std::size_t left = bytes.size() - next;
    if (left < entry_size || load_le<std::uint32_t>(from) != entry_signature)
      throw corrupt("no directory record", end.directory_offset + next)
          .expected("member " + std::to_string(i + 1) + " of " + std::to_string(end.members));
    const std::size_t whole = entry_size + load_le<std::uint16_t>(from + 28) + load_le<std::uint16_t>(from + 30) +
                              load_le<std::uint16_t>(from + 32);
    if (whole > left)
      throw corrupt("a directory record of " + std::to_string(whole) + " bytes", end.directory_offset + next)
          .expected("at most the " + std::to_string(left) + " that are left");
    entries.push_back(parse(from, end.directory_offset + next));
    next += whole;
  }
  if (next != bytes.size())
    throw corrupt(std::to_string(bytes.size() - next) + " bytes after the last record of the directory",
                  end.directory_offset + next)
        .expected("none");
  return entries;
}

void check_path(const DirectoryEntry& entry) {
  try {
    check_name(entry.member.name);
  } catch (Error& e) {
    throw e.at(entry.position);
  }
}

void check_readable(const DirectoryEntry& entry) {
  const ZipMember& member = entry.member;
  const auto who = [&] { return "member " + quoted_name(member.name); };
  const auto unsupported = [&](std::string what) {
    return Error(ErrorCode::unsupported, std::move(what)).at(entry.position);
  };
  if ((entry.flags & (flag_encrypted | flag_strong_encryption | flag_masked)) != 0)
    throw unsupported(who() + " is encrypted")
        .hint("decrypt the archive first: unzip it and zip it again without a password");
  if ((entry.flags & ~flags_known) != 0)
    throw unsupported(who() + " has flags " + std::to_string(entry.flags)).expected("only bits 1, 2, 3 and 11");
  if (member.method != method_stored && member.method != method_deflated)
    throw unsupported(who() + " is compressed by method " + std::to_string(member.method))
        .expected("0 (stored) or 8 (deflated)");

  // The upper half is a Unix mode where it is anything; DOS attributes leave it 0.
  constexpr std::uint32_t type_mask = 0170000, fifo = 0010000, character = 0020000, block = 0060000, link = 0120000,
                          socket = 0140000;
  const std::uint32_t type = (entry.attributes >> 16) & type_mask;
  if (type == link) throw corrupt(who() + " is a symbolic link", entry.position).expected("a file");
  if (type == fifo || type == character || type == block || type == socket)
    throw corrupt(who() + " is a device, pipe or socket", entry.position).expected("a file");

  // PyTorch's reader leaves the memory of what either attribute or name calls a folder as it was, and says nothing.
  constexpr std::uint32_t dos_folder = 0x10;
  if ((member.name.ends_with('/') || (entry.attributes & dos_folder) != 0) && member.size != 0)
    throw corrupt(who() + " is a folder of " + std::to_string(member.size) + " bytes", entry.position)
        .expected("an empty one");
  if (member.method == method_stored && member.size != member.compressed_size)
    throw corrupt(who() + " is stored in " + std::to_string(member.compressed_size) + " bytes", entry.position)
        .expected("its size, " + std::to_string(member.size));
  const auto ceiling = checked_mul(member.compressed_size, limits::zip_ratio);
  if (ceiling && member.size > *ceiling)
    throw Error(ErrorCode::limit_exceeded, who() + " claims to grow from " + std::to_string(member.compressed_size) +
                                               " to " + std::to_string(member.size) + " bytes")
        .expected("at most " + std::to_string(limits::zip_ratio) + " times")
        .at(entry.position);
}

}  // namespace ckpt::zip
