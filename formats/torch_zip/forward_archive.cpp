#include "torch_zip/forward_archive.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "container/quoted_name.h"
#include "container/zip_format.h"
#include "io/stream.h"
#include "torch_zip/layout.h"

namespace ckpt::torch {

const zip::ForwardMember* ForwardArchive::first() {
  last_ = zip::read_forward_header(*source_, 0);
  if (!last_) return nullptr;
  const std::size_t slash = last_->name.find('/');
  if (slash == std::string::npos || last_->name.substr(slash + 1) != pickle_name) return nullptr;
  root_ = last_->name.substr(0, slash);
  return &*last_;
}

bool ForwardArchive::begin(std::uint64_t pickle_size, const std::vector<Storage>& storages) {
  storages_.reserve(storages.size());
  by_key_.reserve(storages.size());
  entries_.reserve(storages.size());
  for (const Storage& storage : storages) {
    by_key_.add(hash_of(storage.key), static_cast<std::uint32_t>(storages_.size()),
                [](std::uint32_t) { return false; });
    storages_.push_back({.key = storage.key, .nbytes = storage.nbytes});
  }
  see(*last_);
  entries_.push_back({std::string(pickle_name), last_->data_offset, pickle_size, std::nullopt});
  if (!close(entries_.front())) return false;
  const auto pickle = slice(source_, last_->data_offset, pickle_size, source_->name());
  return check_all(*pickle) == entries_.front().crc32;
}

/// Of a header, the directory is compared with all but the extra field, which is read again where it is needed.
void ForwardArchive::see(const zip::ForwardMember& member) {
  seen_.add(member.header_offset, std::span(member.header).first(zip::local_size + member.name.size()));
}

bool ForwardArchive::give_up() {
  walking_ = false;
  return false;
}

bool ForwardArchive::close(const Entry& entry) {
  if (entry.crc32) return true;
  const auto end = zip::read_forward_end(*source_, *last_, entry.size);
  if (!end) return give_up();
  entries_.back().crc32 = end->crc32;  // only the last one can be open
  next_ = end->next;
  seen_.pass_ends(next_);
  return true;
}

bool ForwardArchive::step() {
  if (!walking_ || !close(entries_.back())) return false;
  auto header = zip::read_forward_header(*source_, next_);
  // Each member has a record in the directory, and that is bounded.
  if (header) directory_bytes_ += zip::entry_size + header->name.size();
  if (directory_bytes_ > std::min(context_.pickle_cap, limits::zip_directory_bytes)) return give_up();
  if (!header || !header->name.starts_with(root_ + "/") || header->name.ends_with('/')) return give_up();
  const std::string name = header->name.substr(root_.size() + 1);
  const std::uint32_t storage = storage_called(name);
  Told* const told = storage == PositionIndex::nowhere ? nullptr : &storages_[storage];
  const auto size = told == nullptr ? zip::find_forward_size(*source_, *header) : std::optional(told->nbytes);
  const bool is_new = told == nullptr ? records_.insert(name).second : told->place == unseen;
  if (!size || !is_new) return give_up();
  if (told != nullptr) told->place = entries_.size();
  last_ = std::move(header);
  see(*last_);
  entries_.push_back({name, last_->data_offset, *size, std::nullopt});
  return true;
}

const ForwardArchive::Entry* ForwardArchive::walk_to(std::size_t index) {
  while (index >= entries_.size())
    if (finished_ || !step()) return nullptr;
  return &entries_[index];
}

std::uint32_t ForwardArchive::storage_called(std::string_view name) const {
  if (!name.starts_with(storage_folder)) return PositionIndex::nowhere;
  const std::string_view key = name.substr(storage_folder.size());
  return by_key_.find(hash_of(key), [&](std::uint32_t other) { return storages_[other].key == key; });
}

const ForwardArchive::Entry* ForwardArchive::find(std::uint32_t storage) {
  while (storages_[storage].place == unseen)
    if (finished_ || !step()) return nullptr;
  return &entries_[storages_[storage].place];
}

std::string ForwardArchive::name(std::uint32_t storage) const {
  return source_->name() + ": member " +
         quoted_name(root_ + "/" + std::string(storage_folder) + storages_[storage].key);
}

const ZipMember* ForwardArchive::find_listed(const ZipReader& zip, const Told& storage, const ZipMember* likely) const {
  return find_storage(zip, root_ + "/" + std::string(storage_folder) + storage.key,
                      {.key = storage.key, .nbytes = storage.nbytes}, *source_, context_, likely);
}

const ZipMember& ForwardArchive::listed(std::uint32_t storage) {
  return *find_listed(directory(), storages_[storage], nullptr);
}

std::string ForwardArchive::bare_hint() const {
  return "gunzip -c " + shell_word(source_->name()) + " > OUT writes a bare file, which reads in any order";
}

void ForwardArchive::compare_with(const ZipReader& zip) const {
  const auto& members = zip.members();
  const auto differs = [&](std::size_t i) {
    const Entry& entry = entries_[i];
    if (i >= members.size() || members[i].name != root_ + "/" + entry.name ||
        members[i].data_offset != entry.data_offset)
      return true;
    // Of an entry whose end was not where it should be, the directory alone tells size and checksum.
    return entry.crc32 && (members[i].size != entry.size || members[i].crc32 != *entry.crc32);
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!differs(i)) continue;
    throw zip::corrupt(
        "member " + quoted_name(root_ + "/" + entries_[i].name) + " is not in the directory as it is here",
        entries_[i].data_offset)
        .expected("the directory at the end to tell the same name, size and CRC-32")
        .in(source_->name())
        .hint(bare_hint());
  }
}

const ZipReader& ForwardArchive::directory() {
  if (!directory_) {
    walking_ = false;
    ZipReader zip = ZipReader::open(source_, context_, &seen_);
    static_cast<void>(find_root(zip, *source_));
    compare_with(zip);
    directory_ = std::move(zip);
  }
  return *directory_;
}

std::vector<std::string> ForwardArchive::finish(std::optional<ByteOrder> told) {
  if (finished_) return *finished_;
  const ZipReader& zip = directory();
  if (!told && read_byte_order(zip, root_, *source_) != ByteOrder::little)
    throw Error(ErrorCode::unsupported, "member 'byteorder' stands behind the storages and says 'big'")
        .expected("it before them, since what is compressed is read from its first byte on")
        .in(source_->name())
        .hint(bare_hint());
  const ZipMember* likely = nullptr;
  for (const Told& storage : storages_) likely = zip.after(*find_listed(zip, storage, likely));
  // What was read without a checksum to compare has one, where the archive has any.
  for (std::size_t i = 0; i < entries_.size() && zip.has_checksums(); ++i)
    if (entries_[i].crc32.value_or(0) == 0 && entries_[i].size > 0) check_all(*zip.read(zip.members()[i]));
  finished_ = archive_warnings(zip);
  goes_on_ = zip.trailing_bytes() > 0;
  forget_the_walk();
  return *finished_;
}

/// What is asked from now on, the directory tells, which was found to say the same. It is read again then: as a rule,
/// nothing is asked any more.
void ForwardArchive::forget_the_walk() {
  for (Told& storage : storages_) storage.place = unseen;
  entries_ = std::vector<Entry>();  // braces alone would keep the room
  seen_ = SeenHeaders();
  directory_.reset();
}

}  // namespace ckpt::torch
