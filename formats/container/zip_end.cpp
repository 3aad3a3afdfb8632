#include "container/zip_end.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/limits.h"
#include "container/zip_format.h"
#include "io/bytes.h"

namespace ckpt::zip {
namespace {

// An end record and what stands before it, in the window that was read: no further read, which an inflating source
// would pay for dearly.
struct Candidate {
  const std::byte* record;  // end_size bytes and more
  std::size_t before;       // bytes of the window in front of it
  std::uint64_t position;
};

void refuse_disks(std::uint64_t disk, std::uint64_t directory_disk, bool whole, std::uint64_t at) {
  if (disk == 0 && directory_disk == 0 && whole) return;
  throw Error(ErrorCode::unsupported, "a zip archive split over several disks").expected("one file").at(at);
}

// The fields of the 32-bit record must be all ones or say the same as the ZIP64 record: else readers disagree.
void require_same(std::uint64_t narrow, std::uint64_t ones, std::uint64_t wide, const char* what, std::uint64_t at) {
  if (narrow == ones || narrow == wide) return;
  throw corrupt(std::string("the end record gives ") + what + " as " + std::to_string(narrow), at)
      .expected(std::to_string(wide) + " as in the ZIP64 end record");
}

void take_zip64(const std::byte* record, End& end) {
  end.members = load_le<std::uint64_t>(record + 32);
  end.directory_size = load_le<std::uint64_t>(record + 40);
  end.directory_offset = load_le<std::uint64_t>(record + 48);
}

/// What a moved archive's end records say, which stand one behind the other: Python takes a ZIP64 one in front of its
/// locator, wherever that points. Returns where they begin.
std::uint64_t take_moved(const Candidate& candidate, End& end) {
  end.members = load_le<std::uint16_t>(candidate.record + 10);
  end.directory_size = load_le<std::uint32_t>(candidate.record + 12);
  end.directory_offset = load_le<std::uint32_t>(candidate.record + 16);
  constexpr std::size_t wide = end64_size + locator_size;
  const bool is_wide = candidate.before >= wide &&
                       load_le<std::uint32_t>(candidate.record - locator_size) == locator_signature &&
                       load_le<std::uint32_t>(candidate.record - wide) == end64_signature;
  if (!is_wide) return candidate.position;
  take_zip64(candidate.record - wide, end);
  return candidate.position - wide;
}

// Overwrites `end` with the ZIP64 record where the locator in front of the end record names one.
// Returns where the end records begin.
std::uint64_t resolve_zip64(const Candidate& candidate, End& end) {
  if (candidate.before < locator_size) return candidate.position;
  const std::byte* locator = candidate.record - locator_size;
  const std::uint64_t locator_at = candidate.position - locator_size;
  if (load_le<std::uint32_t>(locator) != locator_signature) return candidate.position;

  const auto record_at = load_le<std::uint64_t>(locator + 8);
  refuse_disks(load_le<std::uint32_t>(locator + 4), 0, load_le<std::uint32_t>(locator + 16) <= 1, locator_at);
  // Some readers look in front of the locator, others where it points: only one place pleases both.
  if (candidate.before < locator_size + end64_size || record_at != locator_at - end64_size)
    throw corrupt("the ZIP64 locator points to byte " + std::to_string(record_at), locator_at + 8)
        .expected("the 56 bytes in front of it");
  const std::byte* record = locator - end64_size;
  if (load_le<std::uint32_t>(record) != end64_signature)
    throw corrupt("no ZIP64 end record where its locator points", record_at);
  const auto size = load_le<std::uint64_t>(record + 4);
  if (size != end64_size - 12)
    throw corrupt("a ZIP64 end record of " + std::to_string(size) + " bytes", record_at + 4).expected("44");

  const auto on_disk = load_le<std::uint64_t>(record + 24);
  take_zip64(record, end);
  refuse_disks(load_le<std::uint32_t>(record + 16), load_le<std::uint32_t>(record + 20), on_disk == end.members,
               record_at + 16);

  const std::byte* narrow = candidate.record;
  require_same(load_le<std::uint16_t>(narrow + 10), ones16, end.members, "the number of members",
               candidate.position + 10);
  require_same(load_le<std::uint32_t>(narrow + 12), ones32, end.directory_size, "the directory's size",
               candidate.position + 12);
  require_same(load_le<std::uint32_t>(narrow + 16), ones32, end.directory_offset, "the directory's offset",
               candidate.position + 16);
  return record_at;
}

End examine(const Candidate& candidate, std::uint64_t file_size) {
  const std::byte* record = candidate.record;
  End end;
  const auto on_disk = load_le<std::uint16_t>(record + 8);
  end.members = load_le<std::uint16_t>(record + 10);
  end.directory_size = load_le<std::uint32_t>(record + 12);
  end.directory_offset = load_le<std::uint32_t>(record + 16);
  const std::uint64_t comment = load_le<std::uint16_t>(record + 20);
  end.archive_end = candidate.position + end_size + comment;
  if (end.archive_end > file_size)
    throw Error(ErrorCode::truncated,
                "an archive comment of " + std::to_string(comment) + " bytes reaches past the end of the file")
        .at(candidate.position + 20);
  const auto disk = load_le<std::uint16_t>(record + 4);
  const auto directory_disk = load_le<std::uint16_t>(record + 6);
  refuse_disks(disk == ones16 ? 0 : disk, directory_disk == ones16 ? 0 : directory_disk, on_disk == end.members,
               candidate.position + 4);

  const std::uint64_t records_at = resolve_zip64(candidate, end);
  const auto directory_end = checked_add(end.directory_offset, end.directory_size);
  if (!directory_end || *directory_end != records_at)
    throw corrupt("a directory of " + std::to_string(end.directory_size) + " bytes at byte " +
                      std::to_string(end.directory_offset),
                  candidate.position + 12)
        .expected("it to end where the end records begin, at byte " + std::to_string(records_at));
  return end;
}

void check_limits(const End& end, std::uint64_t directory_cap) {
  if (end.members > limits::zip_members)
    throw Error(ErrorCode::limit_exceeded, "an archive of " + std::to_string(end.members) + " members")
        .expected("at most " + std::to_string(limits::zip_members));
  if (end.directory_size > directory_cap)
    throw Error(ErrorCode::limit_exceeded, "a zip directory of " + std::to_string(end.directory_size) + " bytes")
        .expected("at most " + std::to_string(directory_cap));
}

constexpr std::size_t longest_records = end64_size + locator_size + end_size;

/// The end record in the last bytes of a file, which `tail` gets; none where it is not among them, or not with all that
/// may belong to it.
std::optional<Candidate> find_in_tail(const ByteSource& source, std::uint64_t file_size, std::vector<std::byte>& tail,
                                      std::size_t farthest) {
  const std::uint64_t tail_at = file_size - tail.size();
  source.read_exactly(tail_at, tail);
  for (std::size_t i = tail.size() >= end_size ? tail.size() - end_size + 1 : 0; i-- > 0;) {
    if (file_size - (tail_at + i) > farthest) break;
    if (load_le<std::uint32_t>(tail.data() + i) != end_signature) continue;
    if (tail_at > 0 && i + end_size < longest_records) break;
    return Candidate{tail.data() + i, i, tail_at + i};
  }
  return std::nullopt;
}

/// `farthest`: bytes from the record's first to the file's last.
std::optional<Candidate> find_record(const ByteSource& source, std::vector<std::byte>& tail,
                                     std::size_t farthest = end_size + comment_maximum) {
  const std::uint64_t file_size = source.size();
  // The record is nearly always the last thing in the file, and an inflating source still holds its last few bytes.
  for (const std::size_t most : {std::size_t{limits::kib}, longest_records + farthest}) {
    tail.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file_size, most)));
    if (const auto found = find_in_tail(source, file_size, tail, farthest)) return found;
  }
  return std::nullopt;
}

}  // namespace

End find_end(const ByteSource& source, std::uint64_t directory_cap) {
  std::vector<std::byte> tail;
  const std::optional<Candidate> record = find_record(source, tail);
  if (!record)
    throw Error(ErrorCode::truncated, "no end of central directory")
        .expected("a zip archive's last 22 bytes")
        .at(source.size());
  const End end = examine(*record, source.size());
  check_limits(end, directory_cap);
  return end;
}

std::optional<End> find_moved_end(const ByteSource& source, std::uint64_t directory_cap) {
  std::vector<std::byte> tail;
  const std::optional<Candidate> found = find_record(source, tail);
  if (!found) return std::nullopt;
  End end;
  end.archive_end = found->position + end_size + load_le<std::uint16_t>(found->record + 20);
  if (end.archive_end != source.size()) return std::nullopt;  // it may be that of an archive within a member
  const std::uint64_t records_at = take_moved(*found, end);
  if (end.directory_size > records_at) return std::nullopt;
  end.directory_offset = records_at - end.directory_size;
  check_limits(end, directory_cap);
  return end;
}

bool has_signature(const ByteSource& source, std::uint64_t at, std::uint32_t signature) {
  std::array<std::byte, 4> bytes{};
  return source.read_at(at, bytes) == bytes.size() && load_le<std::uint32_t>(bytes.data()) == signature;
}

std::optional<std::uint64_t> find_begin(const ByteSource& source) {
  constexpr std::size_t step_of_miniz = 4096;
  std::vector<std::byte> tail;
  const std::optional<Candidate> found = find_record(source, tail, end_size + comment_maximum + step_of_miniz);
  if (!found) return std::nullopt;
  const auto has_entry = [&](std::uint64_t at) { return has_signature(source, at, entry_signature); };
  End end;
  const std::uint64_t records_at = take_moved(*found, end);
  const std::byte* const locator = found->record - locator_size;
  if (found->before >= locator_size && load_le<std::uint32_t>(locator) == locator_signature) {
    // Some readers go by the locator alone.
    const bool is_in_front = records_at != found->position;
    if (!is_in_front || has_signature(source, load_le<std::uint64_t>(locator + 8), end64_signature)) return 0;
  }
  // miniz goes by the narrow record where the locator leads to none.
  if (has_entry(end.directory_offset) || has_entry(load_le<std::uint32_t>(found->record + 16))) return 0;
  if (end.directory_size > records_at || !has_entry(records_at - end.directory_size)) return std::nullopt;
  const std::uint64_t directory = records_at - end.directory_size;
  // Python would begin before the file, and does not mind.
  return end.directory_offset > directory ? 0 : directory - end.directory_offset;
}

}  // namespace ckpt::zip
