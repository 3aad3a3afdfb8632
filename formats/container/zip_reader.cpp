#include "container/zip_reader.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "container/zip_directory.h"
#include "container/zip_end.h"
#include "container/zip_format.h"
#include "container/zip_local.h"
#include "io/bytes.h"
#include "io/inflate.h"
#include "model/end_of_file.h"

namespace ckpt {
namespace {

using zip::DirectoryEntry;

// Runs one check. False where it failed and the failure was noted rather than thrown.
template <class Check>
bool passes(const ReadContext& context, const ByteSource& source, const std::string& where, const Check& check) {
  try {
    check();
    return true;
  } catch (Error& e) {
    // A disk that cannot be read is not a fault of the file.
    if (e.code() == ErrorCode::io) throw;
    context.report(e.in(source.name()), where);
    return false;
  }
}

void check_start(const std::vector<DirectoryEntry>& entries, const zip::End& end) {
  const std::uint64_t first = entries.empty() ? end.directory_offset : entries.front().member.header_offset;
  if (first == 0) return;
  throw Error(ErrorCode::corrupt, std::to_string(first) + " bytes before the first member of the archive")
      .expected("none")
      .at(0)
      .hint("what stands before an archive may be another file: cut it off, if it is to be trusted");
}

// Where sources are inflated, each local header may lie in another piece.
constexpr std::size_t headers_ahead = 4;

// Sets the data offset of each entry and returns those that can be read.
std::vector<ZipMember> check_members(const ByteSource& source, std::vector<DirectoryEntry>& entries,
                                     const zip::End& end, const ReadContext& context, const SeenHeaders* seen) {
  zip::LocalHeaders headers(source, entries, end.directory_offset, seen);
  std::vector<ZipMember> members;
  members.reserve(entries.size());
  std::uint64_t free_from = 0;
  std::string before;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    DirectoryEntry& entry = entries[i];
    ZipMember& member = entry.member;
    if (i + headers_ahead < entries.size()) source.expect(entries[i + headers_ahead].member.header_offset, 1);
    const bool placed = passes(context, source, member.name, [&] {
      member.data_offset = headers.locate(i);
      const std::uint64_t data_end = zip::data_end(entry, end.directory_offset);
      if (member.header_offset < free_from)
        throw zip::corrupt("member " + quoted_name(member.name) + " overlaps " + quoted_name(before),
                           member.header_offset)
            .expected("it at byte " + std::to_string(free_from) + " or later");
      free_from = data_end;
      before = member.name;
    });
    if (!placed) continue;
    if (!passes(context, source, member.name, [&] { zip::check_readable(entry); })) continue;
    passes(context, source, member.name, [&] { zip::check_path(entry); });
    passes(context, source, member.name, [&] { headers.compare(i); });
    passes(context, source, member.name, [&] { headers.compare_end(i); });
    if (!member.name.ends_with('/')) members.push_back(std::move(member));
  }
  return members;
}

// Each member's own ratio is checked with it; in gzip they multiply.
void check_inflated(const std::vector<ZipMember>& members, std::uint64_t cap) {
  std::uint64_t total = 0;
  for (const ZipMember& member : members) {
    if (member.method == zip::method_stored) continue;
    const auto sum = checked_add(total, member.size);
    total = sum.value_or(UINT64_MAX);
  }
  if (total <= cap) return;
  throw Error(ErrorCode::limit_exceeded, "the archive's compressed members claim " + std::to_string(total) + " bytes")
      .expected("at most " + std::to_string(cap) + " of a file of this size");
}

}  // namespace

void SeenHeaders::add(std::uint64_t offset, std::span<const std::byte> header) {
  places_.push_back({offset, bytes_.size()});
  bytes_.insert(bytes_.end(), header.begin(), header.end());
}

std::span<const std::byte> SeenHeaders::find(std::uint64_t offset) const {
  const auto at = std::lower_bound(places_.begin(), places_.end(), offset,
                                   [](const Place& place, std::uint64_t wanted) { return place.offset < wanted; });
  if (at == places_.end() || at->offset != offset) return {};
  const std::size_t end = at + 1 == places_.end() ? bytes_.size() : (at + 1)->begin;
  return std::span(bytes_).subspan(at->begin, end - at->begin);
}

ZipReader ZipReader::open(ByteSourcePtr source, const ReadContext& context, const SeenHeaders* seen, NameCase names) {
  try {
    ZipReader reader;
    const zip::End end = zip::find_end(*source, std::min(limits::zip_directory_bytes, context.pickle_cap));
    reader.trailing_bytes_ = source->size() - end.archive_end;
    std::vector<DirectoryEntry> entries = zip::read_directory(*source, end);
    const auto by_offset = [](const DirectoryEntry& a, const DirectoryEntry& b) {
      return a.member.header_offset < b.member.header_offset;
    };
    if (!std::is_sorted(entries.begin(), entries.end(), by_offset))
      std::stable_sort(entries.begin(), entries.end(), by_offset);

    const auto listed = std::make_shared<Listed>();
    std::vector<ZipMember>& members = listed->members;
    members = check_members(*source, entries, end, context, seen);
    passes(context, *source, "", [&] { check_start(entries, end); });
    check_inflated(members, context.inflated_cap);

    const auto name_of = [&](std::size_t i) { return std::string_view(members[i].name); };
    listed->names = zip::NameIndex(members.size(), name_of);
    listed->names.each_clash(name_of, [&](std::size_t a, std::size_t b) {
      passes(context, *source, members[b].name, [&] {
        const bool same = members[a].name == members[b].name;
        if (!same && names == NameCase::exact) return;
        throw zip::corrupt("two members named " + quoted_name(members[b].name) +
                               (same ? "" : " and " + quoted_name(members[a].name) + ", equal but for case"),
                           members[b].header_offset);
      });
    });

    const auto has_bytes = [](const ZipMember& m) { return m.size != 0; };
    const auto has_no_sum = [](const ZipMember& m) { return m.size != 0 && m.crc32 == 0; };
    reader.unchecked_ = std::count_if(members.begin(), members.end(), has_no_sum);
    reader.has_checksums_ =
        reader.unchecked_ == 0 || reader.unchecked_ < std::count_if(members.begin(), members.end(), has_bytes);
    listed->source = std::move(source);
    listed->inflating = context.inflating;
    reader.listed_ = listed;
    return reader;
  } catch (Error& e) {
    if (source) e.in(source->name());
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "no memory for the zip directory").in(source->name());
  }
}

const ZipMember* ZipReader::find(std::string_view name, const ZipMember* likely) const {
  if (likely != nullptr && likely->name == name) return likely;
  const std::ptrdiff_t at =
      listed_->names.find(name, [&](std::size_t i) { return std::string_view(members()[i].name); });
  return at < 0 ? nullptr : &members()[static_cast<std::size_t>(at)];
}

ByteSourcePtr ZipReader::read(const ZipMember& member) const {
  std::optional<std::uint32_t> crc;
  if (member.crc32 != 0) crc = member.crc32;
  const ByteSourcePtr& source = listed_->source;
  const SourceName name(listed_, static_cast<std::uint32_t>(index_of(member)));
  if (member.method == zip::method_stored) return slice(source, member.data_offset, member.size, name, crc);
  ByteSourcePtr compressed = slice(source, member.data_offset, member.compressed_size, name);
  return inflate_raw(std::move(compressed), member.size, name.text(), crc, nullptr, listed_->inflating);
}

std::string ZipReader::Listed::name(std::uint32_t index) const {
  return source->name() + ": member " + quoted_name(members[index].name);
}

bool is_zip(const ByteSource& source) {
  try {
    std::array<std::byte, 4> magic{};
    if (source.read_at(0, magic) != magic.size()) return false;
    const auto signature = load_le<std::uint32_t>(magic.data());
    // An empty archive is nothing but end records.
    return signature == zip::local_signature || signature == zip::end_signature || signature == zip::end64_signature;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return false;
  }
}

std::string first_member_name(const ByteSource& source) {
  std::array<std::byte, zip::local_size> header{};
  if (source.read_at(0, header) != header.size()) return {};
  if (load_le<std::uint32_t>(header.data()) != zip::local_signature) return {};
  std::vector<std::byte> name(load_le<std::uint16_t>(header.data() + 26));
  name.resize(source.read_at(header.size(), name));
  return std::string(as_text(name));
}

std::vector<std::string> archive_warnings(const ZipReader& zip) {
  std::vector<std::string> warnings;
  if (!zip.has_checksums())
    warnings.emplace_back("the archive has no checksums (every CRC is 0), so damaged bytes would not be noticed");
  else if (zip.unchecked() > 0)
    warnings.push_back(
        std::to_string(zip.unchecked()) + (zip.unchecked() == 1 ? " member has" : " members have") +
        " no checksum (a CRC of 0, as skip_data() leaves it), so damaged bytes there would not be noticed");
  if (zip.trailing_bytes() > 0) warnings.push_back(left_out(zip.trailing_bytes(), "the archive"));
  return warnings;
}

}  // namespace ckpt
