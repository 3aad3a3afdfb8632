#include "torch_zip/forward_archive.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "container/zip_format.h"
#include "io/checksum.h"
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
  for (const Storage& storage : storages) storages_.emplace(std::string(storage_folder) + storage.key, storage);
  seen_.emplace(0, std::move(last_->header));
  entries_.push_back({std::string(pickle_name), last_->data_offset, pickle_size, std::nullopt});
  if (!close(entries_.front())) return false;
  const auto pickle = slice(source_, last_->data_offset, pickle_size, source_->name());
  return stream_all(*pickle, [](std::span<const std::byte>) {}) == entries_.front().crc32;
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
  return true;
}

bool ForwardArchive::step() {
  if (!walking_ || !close(entries_.back())) return false;
  // Each member has a record in the directory, and that is bounded.
  if (entries_.size() >= context_.pickle_cap / zip::entry_size) return give_up();
  auto header = zip::read_forward_header(*source_, next_);
  if (!header || !header->name.starts_with(root_ + "/") || header->name.ends_with('/')) return give_up();
  const std::string name = header->name.substr(root_.size() + 1);
  const auto storage = storages_.find(name);
  const auto size =
      storage == storages_.end() ? zip::find_forward_size(*source_, *header) : std::optional(storage->second.nbytes);
  if (!size || !places_.emplace(name, entries_.size()).second) return give_up();
  seen_.emplace(next_, std::move(header->header));
  last_ = std::move(header);
  entries_.push_back({name, last_->data_offset, *size, std::nullopt});
  return true;
}

const ForwardArchive::Entry* ForwardArchive::walk_to(std::size_t index) {
  while (index >= entries_.size())
    if (!step()) return nullptr;
  return &entries_[index];
}

const ForwardArchive::Entry* ForwardArchive::find(const std::string& key) {
  const std::string name = std::string(storage_folder) + key;
  while (!places_.contains(name))
    if (!step()) return nullptr;
  return &entries_[places_.at(name)];
}

void ForwardArchive::compare_with_directory() const {
  const auto& members = directory_->members();
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
        "member " + zip::quoted(root_ + "/" + entries_[i].name) + " is not in the directory as it is here",
        entries_[i].data_offset)
        .expected("the directory at the end to tell the same name, size and CRC-32")
        .in(source_->name());
  }
}

const ZipReader& ForwardArchive::directory() {
  if (!directory_) {
    walking_ = false;
    ZipReader zip = ZipReader::open(source_, context_, &seen_);
    static_cast<void>(find_root(zip, *source_));
    directory_ = std::move(zip);
    compare_with_directory();
  }
  return *directory_;
}

std::vector<std::string> ForwardArchive::finish() {
  if (finished_) return *finished_;
  const ZipReader& zip = directory();
  for (const auto& [name, storage] : storages_) {
    std::uint64_t begin = 0;
    static_cast<void>(find_storage(zip, root_ + "/" + name, storage, *source_, context_, begin));
  }
  // What was read without a checksum to compare has one, where the archive has any.
  for (std::size_t i = 0; i < entries_.size() && zip.has_checksums(); ++i)
    if (entries_[i].crc32.value_or(0) == 0 && entries_[i].size > 0)
      stream_all(*zip.read(zip.members()[i]), [](std::span<const std::byte>) {});
  finished_ = archive_warnings(zip);
  return *finished_;
}

}  // namespace ckpt::torch
