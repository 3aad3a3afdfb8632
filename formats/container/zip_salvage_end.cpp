#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "container/zip_format.h"
#include "container/zip_salvage.h"
#include "io/bytes.h"
#include "io/stream.h"

/// Where a member of a damaged archive ends.
namespace ckpt::zip {
namespace {

/// Of what is looked through for a record at a time.
constexpr std::size_t least_window = 256, most_window = 64 * limits::kib;
constexpr std::uint64_t descriptor_lengths[] = {wide_descriptor, wide_descriptor - signature_size, narrow_descriptor,
                                                descriptor_minimum};

/// Whether a header's extra field is made of fields that fill it: then its length is right, and the data begins where
/// it says.
bool has_sound_extra(const LocalHeader& header) {
  if (header.bytes.empty()) return false;
  // The header's own name: that of the directory may have been believed.
  const std::size_t name_size = load_le<std::uint16_t>(header.bytes.data() + 26);
  auto extra = std::span<const std::byte>(header.bytes).subspan(local_size + name_size);
  constexpr std::size_t head = 4;
  while (extra.size() >= head) {
    const std::size_t length = head + load_le<std::uint16_t>(extra.data() + 2);
    if (length > extra.size()) return false;
    extra = extra.subspan(length);
  }
  return extra.empty();
}

}  // namespace

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
  const auto may_be_one = [&] {  // before its extra field is read, which may be long
    LocalHeader header;
    header.flags = load_le<std::uint16_t>(bytes.data() + 6);
    header.method = load_le<std::uint16_t>(bytes.data() + 8);
    std::vector<std::byte> name(load_le<std::uint16_t>(bytes.data() + 26));
    if (got < bytes.size() || name.size() > longest_name || source_->read_at(at + local_size, name) < name.size())
      return false;
    header.name = as_text(name);
    return is_plausible(header, at);
  };
  if (value == local_signature && may_be_one() && read_local_header(*source_, at)) return End{at, at, std::nullopt};
  if (value == entry_signature && (listed_.empty() || at >= directory_offset_)) {
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
  const std::string name = "member " + quoted_name(member.name);
  if (told && member.compressed_size == *told)
    return fault("what stands behind " + name + " is damaged or cut off", end, "its checksum, or another member");
  fault(name + (goes_on ? " breaks off after " : " is cut off after ") + std::to_string(member.compressed_size) +
            " bytes",
        end, told ? std::to_string(*told) : "its end");
}

/// A member of `size` bytes behind which only its descriptor is damaged: another record follows that.
std::optional<SalvageWalk::End> SalvageWalk::end_before(const LocalHeader& header, std::uint64_t size) const {
  const auto end = checked_add(header.data_offset, size);
  if (!end || *end >= size_ || (header.flags & flag_descriptor) == 0) return std::nullopt;
  for (const std::uint64_t length : descriptor_lengths) {
    const std::uint64_t next = *end + length;
    if (next + signature_size > size_) continue;
    const auto there = read_local_header(*source_, next);
    if (ends_members(next) || listed_at(next) != nullptr || (there && is_plausible(*there, next)))
      return End{*end, next, std::nullopt};
  }
  return std::nullopt;
}

/// Whether bytes at `begin` have a checksum that header or directory record.
bool SalvageWalk::has_checksum(const LocalHeader& header, std::uint64_t begin, std::uint64_t size) const {
  const DirectoryEntry* const entry = listed_at(at_);
  SalvagedMember member;
  member.data_offset = begin;
  member.compressed_size = size;
  member.size = header.size.value_or(entry == nullptr ? UINT64_MAX : entry->member.size);
  member.is_stored = header.method == method_stored;
  if (!member.is_stored && most_inflated(member) > context_.inflated_cap - inflated_) return false;
  const auto bytes = read(member, source_, std::make_shared<FaultList>(), context_);
  const std::uint32_t crc = check_all(*bytes);
  return crc != 0 && ((header.size && crc == header.crc32) || crc == listed_checksum(header.name));
}

/// A member of `size` bytes that is not followed by what should follow it, but by something at `next`: where its data
/// begins and ends by its checksum, its descriptor, or what header and directory both say.
std::optional<SalvageWalk::End> SalvageWalk::place(LocalHeader& header, std::uint64_t size, std::uint64_t next) const {
  // Of a header that is made up, bytes may be missing.
  const std::uint64_t least = header.bytes.empty() ? at_ : at_ + local_size + header.name.size();
  const auto fits = [&](std::uint64_t begin) { return begin >= least && in_bounds(begin, size, next); };
  const DirectoryEntry* const entry = listed_at(at_);
  const std::uint32_t listed_crc = listed_checksum(header.name);
  const bool may_begin_elsewhere = !has_sound_extra(header);
  // A descriptor may be that of the next member, which may be as long.
  const auto is_its_own = [&](const std::optional<Descriptor>& descriptor) {
    return descriptor && (listed_crc != 0 ? descriptor->crc32 == listed_crc : may_begin_elsewhere);
  };
  const std::uint64_t told = header.data_offset;
  if (fits(told) && has_checksum(header, told, size)) return End{told + size, next, std::nullopt};
  std::vector<std::uint64_t> lengths(std::begin(descriptor_lengths), std::end(descriptor_lengths));
  lengths.push_back(0);
  for (const std::uint64_t length : lengths) {
    if (next < length || next - length < size || !fits(next - length - size)) continue;
    const bool is_there =
        length == 0 ? has_checksum(header, next - size, size)
                    : (header.flags & flag_descriptor) != 0 && is_its_own(descriptor_at(header, next - length, size));
    if (!is_there) continue;
    header.data_offset = next - length - size;
    return length == 0 ? End{next, next, std::nullopt} : end_at(header, size);
  }
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
      tell_of_header(header.name, at_);
    return end;
  }
  for (const std::uint64_t size : told)
    if (const auto end = end_before(header, size)) return end;  // what was found lies in its data
  header.data_offset = std::min(header.data_offset, found->data_end);
  return found;
}

}  // namespace ckpt::zip
