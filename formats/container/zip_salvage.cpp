#include "container/zip_salvage.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/utf8.h"
#include "container/quoted_name.h"
#include "container/zip_end.h"
#include "container/zip_format.h"
#include "container/zip_names.h"
#include "io/bytes.h"
#include "io/stream.h"

namespace ckpt::zip {
namespace {

constexpr std::size_t most_directory_window = 64 * limits::kib;
/// What a member costs in memory, with what is found wrong with it.
constexpr std::uint64_t cost_of_member = 512;

/// Of a file whose directory is not where its end says: offsets are wrong. None where it cannot be read.
std::vector<DirectoryEntry> moved_directory_of(const ByteSource& source, std::uint64_t most) {
  try {
    const auto end = find_moved_end(source, most);
    return end ? read_directory(source, *end) : std::vector<DirectoryEntry>{};
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return {};
  }
}

/// The first part of a path, with its slash; empty where there is only one.
std::string_view first_part(std::string_view name) { return name.substr(0, name.find('/') + 1); }

}  // namespace

SalvageWalk::SalvageWalk(ByteSourcePtr source, const ReadContext& context)
    : source_(std::move(source)), context_(context), size_(source_->size()), directory_offset_(size_) {
  read_listed();
  for (const DirectoryEntry& entry : listed_) {
    const auto [place, fresh] = offsets_.try_emplace(entry.member.name, Place{entry.member.header_offset});
    if (!fresh) place->second.is_only_one = false;
  }
}

void SalvageWalk::read_listed() {
  const std::uint64_t most = std::min(limits::zip_directory_bytes, context_.pickle_cap);
  try {
    const zip::End end = zip::find_end(*source_, most);
    listed_ = read_directory(*source_, end);
    std::stable_sort(listed_.begin(), listed_.end(), [](const DirectoryEntry& a, const DirectoryEntry& b) {
      return a.member.header_offset < b.member.header_offset;
    });
    directory_offset_ = end.directory_offset;
    note_names(listed_);
  } catch (Error& error) {
    context_.report(error.in(source_->name()), "");
    const std::vector<DirectoryEntry> moved = moved_directory_of(*source_, most);
    note_names(moved);
    const auto first = std::ranges::min_element(
        moved, {}, [](const DirectoryEntry& moved_entry) { return moved_entry.member.header_offset; });
    if (first != moved.end()) moved_first_ = *first;
  }
}

void SalvageWalk::note_names(const std::vector<DirectoryEntry>& directory) {
  for (const DirectoryEntry& entry : directory) {
    const Listed listed{entry.member.crc32, entry.member.compressed_size};
    const auto [named, fresh] = listed_by_name_.try_emplace(entry.member.name, listed);
    if (!fresh) named->second = {};
  }
}

/// The only one of that name, with a checksum; else null.
const SalvageWalk::Listed* SalvageWalk::only_listed(const std::string& name) const {
  const auto named = listed_by_name_.find(name);
  return named == listed_by_name_.end() || named->second.crc32 == 0 ? nullptr : &named->second;
}

/// Of the member that is looked at: what is listed at its place, else under its name; 0: nothing.
std::uint32_t SalvageWalk::listed_checksum(const std::string& name) const {
  if (const DirectoryEntry* const entry = listed_at(at_)) return entry->member.crc32;
  const Listed* const named = only_listed(name);
  return named == nullptr ? 0 : named->crc32;
}

/// Whether a member of a checkpoint may be called so.
bool SalvageWalk::is_name(const std::string& name) {
  if (name.size() > longest_name || !is_utf8(name)) return false;
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; })) return false;
  try {
    check_name(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void SalvageWalk::fault(std::string found, std::uint64_t at, std::string expected) {
  context_.report(Error(ErrorCode::corrupt, std::move(found)).expected(std::move(expected)).at(at).in(source_->name()),
                  "");
}

/// Of bytes behind a member where the directory says that nothing is.
void SalvageWalk::remark_of_gap(std::uint64_t begin, std::uint64_t end) {
  context_.remark(std::to_string(end - begin) + " bytes behind a member belong to none, at byte " +
                  std::to_string(begin));
}

bool SalvageWalk::is_where_listed(std::uint64_t offset) const {
  return listed_at(offset) != nullptr || offset == directory_offset_;
}

/// Whether a member begins there of whose name the directory, which is at hand, knows none.
bool SalvageWalk::is_unlisted(std::uint64_t offset) const {
  if (listed_.empty() || offset >= directory_offset_) return false;
  const auto header = read_local_header(*source_, offset);
  return header && !offsets_.contains(header->name);
}

const DirectoryEntry* SalvageWalk::listed_at(std::uint64_t offset) const {
  const auto found = std::lower_bound(
      listed_.begin(), listed_.end(), offset,
      [](const DirectoryEntry& entry, std::uint64_t wanted) { return entry.member.header_offset < wanted; });
  return found == listed_.end() || found->member.header_offset != offset ? nullptr : &*found;
}

/// Four bytes alone stand in a gigabyte of weights by chance.
bool SalvageWalk::is_plausible(const LocalHeader& header, std::uint64_t offset) const {
  if ((header.flags & ~flags_known) != 0) return false;
  if (header.method != method_stored && header.method != method_deflated) return false;
  const DirectoryEntry* const entry = listed_at(offset);
  if (entry != nullptr && entry->member.name == header.name) return true;
  if (entry == nullptr && is_within_listed(offset)) return false;
  return is_name(header.name) && header.name.starts_with(root_) && !stands_where_listed(header.name);
}

/// Whether a member that the directory lists has its data there, which may be an archive.
bool SalvageWalk::is_within_listed(std::uint64_t offset) const {
  const auto next = std::lower_bound(
      listed_.begin(), listed_.end(), offset,
      [](const DirectoryEntry& entry, std::uint64_t wanted) { return entry.member.header_offset < wanted; });
  if (next == listed_.begin()) return false;
  const ZipMember& member = (next - 1)->member;
  const std::uint64_t most = next == listed_.end() ? directory_offset_ : next->member.header_offset;
  const auto end = checked_add(member.header_offset + local_size + member.name.size(), member.compressed_size);
  return end && offset < *end && *end <= most && stands_where_listed(member.name);
}

/// What the directory lists is the member; another of its name, that it does not list, belongs to nothing.
bool SalvageWalk::stands_where_listed(const std::string& name) const {
  const auto listed = offsets_.find(name);
  if (listed == offsets_.end()) return false;
  std::vector<std::byte> there(local_size + name.size());  // without the extra field, which may be long
  return source_->read_at(listed->second.offset, there) == there.size() &&
         load_le<std::uint16_t>(there.data() + 26) == name.size() &&
         as_text(std::span<const std::byte>(there).subspan(local_size)) == name;
}

/// A header by its name, whatever its signature.
std::optional<LocalHeader> SalvageWalk::named_header(std::uint64_t offset) const {
  if (offset >= size_) return std::nullopt;
  auto header = read_local_header(*source_, offset, false);
  if (header && !is_plausible(*header, offset)) header.reset();
  return header;
}

bool SalvageWalk::ends_members(std::uint64_t offset) const {
  std::array<std::byte, 4> bytes{};
  if (source_->read_at(offset, bytes) < bytes.size()) return offset >= size_;
  const auto value = load_le<std::uint32_t>(bytes.data());
  return value == entry_signature || value == end_signature || value == end64_signature;
}

/// What the directory tells of a member whose header is damaged. Where its data begins, its end will tell.
LocalHeader SalvageWalk::header_of(const DirectoryEntry& entry) const {
  const ZipMember& member = entry.member;
  LocalHeader header;
  header.name = member.name;
  header.flags = entry.flags;
  header.method = member.method;
  header.crc32 = member.crc32;
  header.size = member.size;
  header.compressed_size = member.compressed_size;
  header.data_offset = std::min(size_, member.header_offset + local_size + member.name.size());
  if (const auto there = read_local_header(*source_, member.header_offset, false); there && there->name == member.name)
    header.data_offset = there->data_offset;
  return header;
}

/// Where header and directory differ, one of them is damaged: which, the rest of the archive tells.
void SalvageWalk::reconcile(LocalHeader& header, const DirectoryEntry& entry, const Expected& expected) {
  const ZipMember& listed = entry.member;
  if (listed.name != header.name && is_name(listed.name)) {
    fault("the directory calls member " + quoted_name(header.name) + " " + quoted_name(listed.name),
          listed.header_offset, "one name in both");
    const DirectoryEntry& other = entry.position == listed_.back().position ? listed_.front() : listed_.back();
    const auto rank = [&](const std::string& name) {
      return expected.is_known(name) + 2 * (first_part(name) == first_part(other.member.name));
    };
    const bool is_rather_listed = offsets_.at(listed.name).is_only_one;
    if (rank(listed.name) + is_rather_listed > rank(header.name)) header.name = listed.name;
  }
  if (listed.method != header.method) {
    fault("the directory and the local header of member " + quoted_name(header.name) + " differ", listed.header_offset,
          "one method in both");
    header.method = listed.size == listed.compressed_size ? method_stored : method_deflated;
  }
}

/// Of a file in which bytes are missing, or too many, the first member by its checksum, where its header is damaged.
std::optional<LocalHeader> SalvageWalk::moved_first_header() {
  if (!is_name(moved_first_->member.name)) return std::nullopt;
  LocalHeader header = header_of(*moved_first_);
  const auto behind = search(1, nullptr);
  if (!behind || !place(header, moved_first_->member.compressed_size, behind->next)) return std::nullopt;
  tell_of_header(header.name, 0);
  return header;
}

void SalvageWalk::tell_of_header(const std::string& name, std::uint64_t offset) {
  fault("the local header of member " + quoted_name(name) + " is damaged", offset, "a sound one");
}

/// The header of the member that is due at `offset`. One of its signature and its name may be damaged.
std::optional<LocalHeader> SalvageWalk::header_at(std::uint64_t offset, const Expected& expected) {
  auto header = read_local_header(*source_, offset);
  if (header && !is_plausible(*header, offset)) header.reset();
  if (offset == 0 && moved_first_ && (!header || header->name != moved_first_->member.name))
    if (auto first = moved_first_header()) return first;
  const DirectoryEntry* const entry = listed_at(offset);
  if (header) {
    if (entry != nullptr) reconcile(*header, *entry, expected);
    return header;
  }
  if (ends_members(offset) && entry == nullptr) return std::nullopt;
  header = named_header(offset);
  if (header && root_.empty() && !expected.is_known(header->name)) header.reset();
  if (!header && entry != nullptr && is_name(entry->member.name) && offset + local_size <= size_)
    header = header_of(*entry);
  if (header) tell_of_header(header->name, offset);
  return header;
}

/// Whether a record begins at `offset`, which the end of the file may cut off.
bool SalvageWalk::begins_record(std::uint64_t offset) const {
  std::array<std::byte, signature_size> there{}, signature{};
  const std::size_t got = source_->read_at(offset, there);
  constexpr std::uint32_t signatures[] = {descriptor_signature, local_signature, entry_signature, end_signature};
  return std::ranges::any_of(signatures, [&](std::uint32_t value) {
    store_le(signature.data(), value);
    return std::equal(there.begin(), there.begin() + got, signature.begin());
  });
}

SalvagedMember SalvageWalk::take(LocalHeader header, const Expected& expected) {
  const DirectoryEntry* const entry = listed_at(at_);
  SalvagedMember member;
  member.name = header.name;
  member.header_offset = at_;
  member.is_stored = header.method == method_stored;
  std::vector<std::uint64_t> told;  // in the order in which they are believed, where nothing confirms any
  if (const auto size = member.is_stored ? expected.size_of(header.name) : std::nullopt) told.push_back(*size);
  if (entry != nullptr)
    told.push_back(entry->member.compressed_size);
  else if (const Listed* const named = only_listed(header.name))
    told.push_back(named->compressed_size);
  if (header.compressed_size) told.push_back(*header.compressed_size);

  const std::optional<End> end = find_end(header, told);
  const std::uint64_t begin = std::min(header.data_offset, size_);
  const std::uint64_t next = end ? end->next : size_;
  member.data_offset = begin;
  member.compressed_size = (end ? end->data_end : size_) - begin;
  const bool is_told = std::find(told.begin(), told.end(), member.compressed_size) != told.end();
  if (!told.empty() && !is_told) member.compressed_size = std::min(member.compressed_size, told.front());
  const bool is_as_told = told.empty() || is_told;
  const bool has_descriptor = (header.flags & flag_descriptor) != 0;
  const bool is_closed = end && (has_descriptor ? end->descriptor.has_value() : is_as_told);
  const bool has_gap = next - begin - member.compressed_size > wide_descriptor;
  const bool is_listed_gap = has_gap && entry != nullptr && is_where_listed(next);
  has_gaps_ = has_gaps_ || (has_gap && !is_listed_gap);
  // Where no room is left for the descriptor that was promised, bytes are missing before it.
  const bool is_cramped =
      has_descriptor && end && next - begin - member.compressed_size < narrow_descriptor - signature_size;
  member.is_displaced = !is_closed && (has_gap || is_cramped);
  member.is_closed = is_closed || (!end && begins_record(begin + member.compressed_size));
  member.ends_as_told = is_closed || (!told.empty() && member.compressed_size == told.front());
  if (!is_closed || !is_as_told)
    tell_of_end(member, told.empty() ? std::nullopt : std::optional(told.front()), end.has_value());
  else if (is_listed_gap)
    remark_of_gap(begin + member.compressed_size, next);
  else if (has_gap)
    fault("what stands behind member " + quoted_name(member.name) + " is no member", begin + member.compressed_size,
          "the next at byte " + std::to_string(next));
  const std::uint32_t listed = listed_checksum(member.name);
  at_ = next;

  const auto add = [&](std::uint32_t crc) {
    const auto& known = member.checksums;
    if (crc != 0 && std::find(known.begin(), known.end(), crc) == known.end()) member.checksums.push_back(crc);
  };
  std::optional<std::uint64_t> size = header.size;  // the largest that is told: deflate says itself where it ends
  const auto add_size = [&](std::uint64_t other) { size = std::max(size.value_or(0), other); };
  if (entry != nullptr) add_size(entry->member.size);
  add(listed);
  if (end && end->descriptor) {
    add_size(end->descriptor->size);
    add(end->descriptor->crc32);
  }
  if (header.compressed_size) add(header.crc32);
  if (member.checksums.size() > 1)
    fault("the CRC-32 of member " + quoted_name(member.name) + " is recorded as " +
              std::to_string(member.checksums[0]) + " and as " + std::to_string(member.checksums[1]),
          member.header_offset, "one and the same");
  member.size = size.value_or(UINT64_MAX);
  if (member.is_stored)
    member.size = member.compressed_size;
  else
    count_inflated(member);
  return member;
}

std::uint64_t SalvageWalk::most_inflated(const SalvagedMember& member) {
  return std::min(member.size, checked_mul(member.compressed_size, limits::zip_ratio).value_or(UINT64_MAX));
}

/// In gzip, what deflate can grow to multiplies.
void SalvageWalk::count_inflated(const SalvagedMember& member) {
  inflated_ = checked_add(inflated_, most_inflated(member)).value_or(UINT64_MAX);
  if (inflated_ > context_.inflated_cap)
    throw Error(ErrorCode::limit_exceeded,
                "the archive's compressed members may come to " + std::to_string(inflated_) + " bytes")
        .expected("at most " + std::to_string(context_.inflated_cap) + " of a file of this size")
        .in(source_->name());
}

std::optional<std::uint64_t> SalvageWalk::another_behind() const {
  if (!listed_.empty()) return std::nullopt;
  std::vector<std::byte> window(most_directory_window);
  for (std::uint64_t at = at_; at < size_; at += window.size() - end_size) {
    window.resize(source_->read_at(at, window));
    const std::size_t found = as_text(window).find("PK\5\6");
    if (found != std::string_view::npos && found + end_size <= window.size()) {
      const std::uint64_t end = at + found + end_size + load_le<std::uint16_t>(&window[found + 20]);
      return read_local_header(*source_, end) ? std::optional(end) : std::nullopt;
    }
    if (window.size() <= end_size) break;
  }
  return std::nullopt;
}

std::optional<SalvagedMember> SalvageWalk::next(const Expected& expected) {
  while (at_ < size_) {
    const auto header = header_at(at_, expected);
    if (header) {
      if (++members_ > context_.pickle_cap / cost_of_member)
        throw Error(ErrorCode::limit_exceeded, "an archive of more than " + std::to_string(members_ - 1) + " members")
            .expected("fewer in a file of this size")
            .in(source_->name());
      if (members_ == 1) root_ = first_part(header->name);
      return take(*header, expected);
    }
    const bool is_all_behind = listed_.empty() || at_ >= directory_offset_;
    if (ends_members(at_) && members_ > 0 && is_all_behind) return std::nullopt;
    const auto found = search(at_ + 1, nullptr);
    if (at_ == 0 && found)
      fault(std::to_string(found->next) + " bytes before the first member", 0, "none");
    else if (found && (is_where_listed(found->next) || is_unlisted(found->next)))
      remark_of_gap(at_, found->next);
    else {
      has_gaps_ = has_gaps_ || found.has_value();
      fault("no member begins here", at_, found ? "one; the next is at byte " + std::to_string(found->next) : "one");
    }
    if (!found) break;
    at_ = found->next;
  }
  return std::nullopt;
}

}  // namespace ckpt::zip
