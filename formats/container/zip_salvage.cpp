#include "container/zip_salvage.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/utf8.h"
#include "container/zip_end.h"
#include "container/zip_format.h"
#include "container/zip_names.h"
#include "io/bytes.h"
#include "io/stream.h"

namespace ckpt::zip {
namespace {

/// What a member costs in memory, with what is found wrong with it.
constexpr std::uint64_t cost_of_member = 512;
/// Names that are longer are no checkpoint's.
constexpr std::size_t longest_name = 2 * limits::kib;
/// Of what is looked through for a record at a time.
constexpr std::size_t least_window = 256, most_window = 64 * limits::kib;

/// Entries by their offset; none, and why, where there is no directory to be read.
std::vector<DirectoryEntry> directory_of(const ByteSource& source, const ReadContext& context, std::uint64_t& begin) {
  begin = source.size();
  try {
    const End end = find_end(source, std::min(limits::zip_directory_bytes, context.pickle_cap));
    std::vector<DirectoryEntry> entries = read_directory(source, end);
    std::stable_sort(entries.begin(), entries.end(), [](const DirectoryEntry& a, const DirectoryEntry& b) {
      return a.member.header_offset < b.member.header_offset;
    });
    begin = end.directory_offset;
    return entries;
  } catch (Error& error) {
    context.report(error.in(source.name()), "");
    return {};
  }
}

/// The first part of a path, with its slash; empty where there is only one.
std::string_view first_part(std::string_view name) { return name.substr(0, name.find('/') + 1); }

bool is_name(const std::string& name) {
  if (name.size() > longest_name || !is_utf8(name)) return false;
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; })) return false;
  try {
    check_name(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

SalvageWalk::SalvageWalk(ByteSourcePtr source, const ReadContext& context)
    : source_(std::move(source)), context_(context), size_(source_->size()) {
  listed_ = directory_of(*source_, context_, directory_offset_);
  for (const DirectoryEntry& entry : listed_) offsets_.try_emplace(entry.member.name, entry.member.header_offset);
}

void SalvageWalk::fault(std::string found, std::uint64_t at, std::string expected) {
  context_.report(Error(ErrorCode::corrupt, std::move(found)).expected(std::move(expected)).at(at).in(source_->name()),
                  "");
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
  return is_name(header.name) && header.name.starts_with(root_) && !stands_where_listed(header.name);
}

/// What the directory lists is the member; another of its name, that it does not list, belongs to nothing.
bool SalvageWalk::stands_where_listed(const std::string& name) const {
  const auto listed = offsets_.find(name);
  if (listed == offsets_.end()) return false;
  const auto there = read_local_header(*source_, listed->second, false);
  return there && there->name == name;
}

/// A header by its name, whatever its signature.
std::optional<LocalHeader> SalvageWalk::named_header(std::uint64_t offset) const {
  if (root_.empty() || offset >= size_) return std::nullopt;
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
    fault("the directory calls member " + quoted(header.name) + " " + quoted(listed.name), listed.header_offset,
          "one name in both");
    const DirectoryEntry& other = entry.position == listed_.back().position ? listed_.front() : listed_.back();
    const auto rank = [&](const std::string& name) {
      return expected.is_known(name) + 2 * (first_part(name) == first_part(other.member.name));
    };
    if (rank(listed.name) > rank(header.name)) header.name = listed.name;
  }
  if (listed.method != header.method) {
    fault("the directory and the local header of member " + quoted(header.name) + " differ", listed.header_offset,
          "one method in both");
    header.method = listed.size == listed.compressed_size ? method_stored : method_deflated;
  }
}

/// The header of the member that is due at `offset`. One of its signature and its name may be damaged.
std::optional<LocalHeader> SalvageWalk::header_at(std::uint64_t offset, const Expected& expected) {
  auto header = read_local_header(*source_, offset);
  if (header && !is_plausible(*header, offset)) header.reset();
  const DirectoryEntry* const entry = listed_at(offset);
  if (header) {
    if (entry != nullptr) reconcile(*header, *entry, expected);
    return header;
  }
  if (ends_members(offset) && entry == nullptr) return std::nullopt;
  header = named_header(offset);
  if (!header && entry != nullptr && is_name(entry->member.name) && offset + local_size <= size_)
    header = header_of(*entry);
  if (header) fault("the local header of member " + quoted(header->name) + " is damaged", offset, "a sound one");
  return header;
}

std::optional<Descriptor> SalvageWalk::descriptor_at(const LocalHeader& header, std::uint64_t offset,
                                                     std::uint64_t compressed_size) const {
  const auto size = header.method == method_stored ? std::optional(compressed_size) : std::nullopt;
  return read_descriptor(*source_, offset, compressed_size, size, /*followed=*/false);
}

std::optional<SalvageWalk::End> SalvageWalk::end_at(const LocalHeader& header, std::uint64_t compressed_size) const {
  const auto end = checked_add(header.data_offset, compressed_size);
  if (!end || *end > size_) return std::nullopt;
  if ((header.flags & flag_descriptor) != 0) {
    const auto descriptor = descriptor_at(header, *end, compressed_size);
    if (!descriptor) return std::nullopt;
    return End{*end, *end + descriptor->length, descriptor};
  }
  if (!ends_members(*end) && listed_at(*end) == nullptr && !read_local_header(*source_, *end) && !named_header(*end))
    return std::nullopt;
  return End{*end, *end, std::nullopt};
}

/// What begins at byte `at` of the file, with a P and a K.
std::optional<SalvageWalk::End> SalvageWalk::match(std::uint64_t at, const LocalHeader* member) const {
  std::array<std::byte, local_size> bytes{};
  const std::size_t got = source_->read_at(at, bytes);
  const auto value = got < 4 ? 0 : load_le<std::uint32_t>(bytes.data());
  if (value == descriptor_signature && member != nullptr && (member->flags & flag_descriptor) != 0)
    return end_at(*member, at - member->data_offset);
  const auto may_be_one = [&] {  // before its name and extra field are read
    return got == bytes.size() && (load_le<std::uint16_t>(bytes.data() + 6) & ~flags_known) == 0 &&
           load_le<std::uint16_t>(bytes.data() + 26) <= longest_name;
  };
  if (value == local_signature && may_be_one()) {
    const auto header = read_local_header(*source_, at);
    if (header && is_plausible(*header, at)) return End{at, at, std::nullopt};
  }
  if (value == entry_signature) {
    std::vector<std::byte> record(entry_size + longest_name);
    record.resize(source_->read_at(at, record));
    if (record.size() < entry_size) return std::nullopt;
    const std::size_t name_size = load_le<std::uint16_t>(record.data() + 28);
    const std::string name(as_text(std::span(record).subspan(entry_size)).substr(0, name_size));
    if (name.size() == name_size && is_name(name) && name.starts_with(root_)) return End{at, at, std::nullopt};
  }
  return std::nullopt;
}

/// The next record from `from` on: the descriptor of `member`, a local header, a directory's record, or where the
/// directory lists a header, or begins.
std::optional<SalvageWalk::End> SalvageWalk::search(std::uint64_t from, const LocalHeader* member) const {
  const auto after = std::lower_bound(
      listed_.begin(), listed_.end(), from,
      [](const DirectoryEntry& entry, std::uint64_t offset) { return entry.member.header_offset < offset; });
  const std::uint64_t most = from <= directory_offset_ ? directory_offset_ : size_;
  const std::uint64_t listed = after == listed_.end() ? most : std::min(size_, after->member.header_offset);
  std::vector<std::byte> window;
  for (std::uint64_t at = from; at < size_; at += window.size()) {
    // Mostly it is close by.
    window.resize(std::clamp(2 * window.size(), least_window, most_window));
    const std::size_t count = source_->read_at(at, window);
    for (std::size_t i = 0; i < count && at + i < listed; ++i) {
      const void* const found = std::memchr(window.data() + i, 'P', count - i);
      if (found == nullptr) break;
      i = static_cast<std::size_t>(static_cast<const std::byte*>(found) - window.data());
      if (at + i >= listed) break;
      if (i + 1 < count && window[i + 1] != std::byte{'K'}) continue;
      if (const auto end = match(at + i, member)) return end;
    }
    if (listed < size_ && at + window.size() > listed) return End{listed, listed, std::nullopt};
  }
  return std::nullopt;
}

/// A member whose end is not where any told it to be.
void SalvageWalk::tell_of_end(const SalvagedMember& member, std::optional<std::uint64_t> told, bool goes_on) {
  const std::uint64_t end = member.data_offset + member.compressed_size;
  const std::string name = "member " + quoted(member.name);
  if (told && member.compressed_size == *told)
    return fault("what stands behind " + name + " is damaged or cut off", end, "its checksum, or another member");
  fault(name + (goes_on ? " breaks off after " : " is cut off after ") + std::to_string(member.compressed_size) +
            " bytes",
        end, told ? std::to_string(*told) : "its end");
}

/// Whether bytes at `begin` have a checksum that header or directory record.
bool SalvageWalk::has_checksum(const LocalHeader& header, std::uint64_t begin, std::uint64_t size) const {
  const DirectoryEntry* const entry = listed_at(at_);
  SalvagedMember member;
  member.data_offset = begin;
  member.compressed_size = size;
  member.size = header.size.value_or(entry == nullptr ? UINT64_MAX : entry->member.size);
  member.is_stored = header.method == method_stored;
  const auto bytes = read(member, source_, std::make_shared<FaultList>(), context_);
  const std::uint32_t crc = check_all(*bytes);
  return crc != 0 && ((header.size && crc == header.crc32) || (entry != nullptr && crc == entry->member.crc32));
}

/// A member of `size` bytes that is not followed by what should follow it, but by something at `next`: where its data
/// begins and ends by its checksum, its descriptor, or what header and directory both say.
std::optional<SalvageWalk::End> SalvageWalk::place(LocalHeader& header, std::uint64_t size, std::uint64_t next) const {
  const std::uint64_t least = at_ + local_size + header.name.size();
  const auto fits = [&](std::uint64_t begin) { return begin >= least && in_bounds(begin, size, next); };
  const std::uint64_t told = header.data_offset;
  if (fits(told) && has_checksum(header, told, size)) return End{told + size, next, std::nullopt};
  constexpr std::uint64_t lengths[] = {wide_descriptor, wide_descriptor - signature_size, narrow_descriptor,
                                       descriptor_minimum, 0};
  for (const std::uint64_t length : lengths) {
    if (next < length || next - length < size || !fits(next - length - size)) continue;
    const bool is_there = length == 0
                              ? has_checksum(header, next - size, size)
                              : (header.flags & flag_descriptor) != 0 && descriptor_at(header, next - length, size);
    if (!is_there) continue;
    header.data_offset = next - length - size;
    return length == 0 ? End{next, next, std::nullopt} : end_at(header, size);
  }
  const DirectoryEntry* const entry = listed_at(at_);
  if (entry != nullptr && entry->member.compressed_size == size && fits(told) && header.compressed_size == size)
    return End{told + size, next, std::nullopt};
  return std::nullopt;
}

/// Where the member ends: where one of the sizes that are told says, if something ends or begins there; else where the
/// next record is found.
std::optional<SalvageWalk::End> SalvageWalk::find_end(LocalHeader& header, const std::vector<std::uint64_t>& told) {
  for (const std::uint64_t size : told)
    if (const auto end = end_at(header, size)) return end;
  // The length of its extra field may be what is wrong: its data may begin, and end, before that.
  const std::optional<End> found = search(at_ + local_size + header.name.size(), &header);
  if (!found) return std::nullopt;
  if (found->descriptor) return found;
  const std::uint64_t begin = header.data_offset;
  for (const std::uint64_t size : told) {
    const auto end = place(header, size, found->next);
    if (!end) continue;
    if (header.data_offset != begin && !header.bytes.empty())  // else it has been told
      fault("the local header of member " + quoted(header.name) + " is damaged", at_, "a sound one");
    return end;
  }
  header.data_offset = std::min(header.data_offset, found->data_end);
  return found;
}

SalvagedMember SalvageWalk::take(LocalHeader header, const Expected& expected) {
  const DirectoryEntry* const entry = listed_at(at_);
  SalvagedMember member;
  member.name = header.name;
  member.header_offset = at_;
  member.is_stored = header.method == method_stored;
  std::vector<std::uint64_t> told;  // in the order in which they are believed, where nothing confirms any
  if (const auto size = member.is_stored ? expected.size_of(header.name) : std::nullopt) told.push_back(*size);
  if (entry != nullptr) told.push_back(entry->member.compressed_size);
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
  member.is_displaced = !is_closed && next - begin - member.compressed_size > wide_descriptor;
  member.ends_as_told = is_closed || (!told.empty() && member.compressed_size == told.front());
  if (!is_closed || !is_as_told)
    tell_of_end(member, told.empty() ? std::nullopt : std::optional(told.front()), end.has_value());
  at_ = next;

  const auto add = [&](std::uint32_t crc) {
    const auto& known = member.checksums;
    if (crc != 0 && std::find(known.begin(), known.end(), crc) == known.end()) member.checksums.push_back(crc);
  };
  std::optional<std::uint64_t> size = header.size;  // the largest that is told: deflate says itself where it ends
  const auto add_size = [&](std::uint64_t other) { size = std::max(size.value_or(0), other); };
  if (entry != nullptr) {
    add_size(entry->member.size);
    add(entry->member.crc32);
  }
  if (end && end->descriptor) {
    add_size(end->descriptor->size);
    add(end->descriptor->crc32);
  }
  if (header.compressed_size) add(header.crc32);
  member.size = size.value_or(UINT64_MAX);
  if (member.is_stored)
    member.size = member.compressed_size;
  else
    count_inflated(member);
  return member;
}

/// In gzip, what deflate can grow to multiplies.
void SalvageWalk::count_inflated(const SalvagedMember& member) {
  const auto most = checked_mul(member.compressed_size, limits::zip_ratio).value_or(UINT64_MAX);
  inflated_ = checked_add(inflated_, std::min(member.size, most)).value_or(UINT64_MAX);
  if (inflated_ > context_.inflated_cap)
    throw Error(ErrorCode::limit_exceeded,
                "the archive's compressed members may come to " + std::to_string(inflated_) + " bytes")
        .expected("at most " + std::to_string(context_.inflated_cap) + " of a file of this size")
        .in(source_->name());
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
    if (ends_members(at_) && members_ > 0) return std::nullopt;
    const auto found = search(at_ + 1, nullptr);
    if (at_ == 0 && found)
      fault(std::to_string(found->next) + " bytes before the first member", 0, "none");
    else if (found && (listed_at(found->next) != nullptr || found->next == directory_offset_))
      // The directory says that nothing is here.
      context_.remark(std::to_string(found->next - at_) + " bytes behind a member belong to none, at byte " +
                      std::to_string(at_));
    else
      fault("no member begins here", at_, found ? "one; the next is at byte " + std::to_string(found->next) : "one");
    if (!found) break;
    at_ = found->next;
  }
  return std::nullopt;
}

}  // namespace ckpt::zip
