#include "torch_zip/forward.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ckpt/error.h"
#include "container/quoted_name.h"
#include "model/end_of_file.h"
#include "model/order_storages.h"
#include "pickled_tensors/read_pickle.h"
#include "pickled_tensors/tensors.h"
#include "torch_zip/forward_archive.h"
#include "torch_zip/layout.h"
#include "torch_zip/torch_zip.h"

namespace ckpt::torch {
namespace {

using ArchivePtr = std::shared_ptr<ForwardArchive>;

/// An archive without checksums records 0; whether it is one is known at its end.
std::optional<std::uint32_t> recorded(const ForwardArchive::Entry& entry) {
  return entry.crc32 == 0U ? std::nullopt : entry.crc32;
}

/// A storage that is looked for when its bytes are first asked for.
class ForwardStorage final : public ByteSource {
 public:
  /// `storage`: as ForwardArchive counts them.
  ForwardStorage(ArchivePtr archive, std::uint32_t storage)
      : ByteSource(SourceName(archive, storage)), storage_(storage), archive_(std::move(archive)) {}

  [[nodiscard]] std::uint64_t size() const override { return archive_->size_of(storage_); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size()) return 0;
    const auto turn = archive_->turn();
    const auto wanted = out.first(std::min<std::uint64_t>(out.size(), size() - offset));
    if (const auto* entry = archive_->find(storage_)) {
      const std::size_t got = archive_->source()->read_at(entry->data_offset + offset, wanted);
      if (got < wanted.size()) static_cast<void>(archive_->directory());  // the file ends early, and that says how
      return got;
    }
    return from_directory().read_at(offset, wanted);
  }

  [[nodiscard]] std::optional<std::uint32_t> recorded_crc32() const override {
    const auto turn = archive_->turn();
    if (const auto* entry = archive_->find(storage_); entry != nullptr && archive_->close(*entry))
      return recorded(*entry);
    return from_directory().recorded_crc32();
  }

 private:
  const ByteSource& from_directory() const {
    if (!listed_) listed_ = archive_->directory().read(archive_->listed(storage_));
    return *listed_;
  }

  std::uint32_t storage_;
  ArchivePtr archive_;
  mutable ByteSourcePtr listed_;
};

class ForwardDetails final : public ZipDetails, public OpenEnd {
 public:
  explicit ForwardDetails(ArchivePtr archive) : archive_(std::move(archive)) { root = archive_->root(); }

  std::optional<ByteOrder> byte_order;  ///< where a record before the storages tells it

  [[nodiscard]] std::optional<Member> member(std::size_t index) const override {
    const auto turn = archive_->turn();
    const std::string within = archive_->source()->name() + ": member ";
    if (const auto* entry = archive_->walk_to(index)) {
      const Member found = describe_member(entry->name, archive_->is_storage(entry->name), [&] {
        return slice(archive_->source(), entry->data_offset, entry->size,
                     within + quoted_name(root + "/" + entry->name),
                     archive_->close(*entry) ? recorded(*entry) : std::nullopt);
      });
      if (is_version(entry->name)) check_version(read_text(*found.bytes), entry->data_offset, *archive_->source());
      return found;
    }
    const ZipReader& zip = archive_->directory();
    if (index >= zip.members().size()) return std::nullopt;
    const ZipMember& listed = zip.members()[index];
    const std::string name = listed.name.substr(root.size() + 1);
    return describe_member(name, archive_->is_storage(name), [&] { return zip.read(listed); });
  }

  [[nodiscard]] bool has_storage(std::string_view key) const override {
    return archive_->is_storage(std::string(storage_folder) + std::string(key));
  }

  [[nodiscard]] std::vector<std::string> finish() const override {
    const auto turn = archive_->turn();
    return archive_->finish(byte_order);
  }

  [[nodiscard]] bool goes_on() const override {
    const auto turn = archive_->turn();
    return archive_->goes_on();
  }

 private:
  ArchivePtr archive_;
};

/// What the records before the first storage say of all storages.
struct Heading {
  std::optional<ByteOrder> byte_order;
  std::optional<std::uint32_t> alignment;
  /// Until 2.5 or so torch wrote storages in the order of their keys as text, later in that of their appearance.
  bool by_appearance = false;
};

Heading read_heading(const ForwardDetails& details, ForwardArchive& archive) {
  Heading heading;
  for (std::size_t i = 1;; ++i) {
    const auto* entry = archive.walk_to(i);
    if (entry == nullptr || archive.is_storage(entry->name)) return heading;
    const std::uint64_t at = entry->data_offset;
    const ZipDetails::Member record = *details.member(i);
    if (record.name == byte_order_name)
      heading.byte_order = parse_byte_order(read_text(*record.bytes), at, *archive.source());
    if (record.name == alignment_name) heading.alignment = parse_alignment(read_text(*record.bytes));
    if (record.name == format_version_name) heading.by_appearance = true;
  }
}

/// Puts the storages into the order in which they most likely stand.
void order_by_key(Checkpoint& checkpoint) {
  std::vector<std::string> keys;
  keys.reserve(checkpoint.storages.size());
  for (const Storage& storage : checkpoint.storages) keys.push_back(storage.key);
  order_storages(checkpoint, keys);
}

std::optional<Checkpoint> read_plain(const ByteSourcePtr& source, const ReadContext& context) {
  const auto archive = std::make_shared<ForwardArchive>(source, context);
  const zip::ForwardMember* const pickle = archive->first();
  if (pickle == nullptr) return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.file = source->name();
  checkpoint.format = zip_format.name;
  const std::uint64_t begin = pickle->data_offset;
  const std::uint64_t end = read_object(*source, begin, context.pickle_cap, checkpoint, &context);
  refuse_views(checkpoint);
  if (!archive->begin(end - begin, checkpoint.storages)) return std::nullopt;

  const auto details = std::make_shared<ForwardDetails>(archive);
  const Heading heading = read_heading(*details, *archive);
  details->byte_order = heading.byte_order;
  details->alignment = heading.alignment.value_or(details->alignment);
  for (std::uint32_t i = 0; i < checkpoint.storages.size(); ++i) {
    checkpoint.storages[i].byte_order = heading.byte_order.value_or(ByteOrder::little);
    checkpoint.storages[i].bytes = std::make_shared<ForwardStorage>(archive, i);
  }
  if (!heading.by_appearance) order_by_key(checkpoint);
  decode_tensors(checkpoint);
  checkpoint.details = details;
  return checkpoint;
}

}  // namespace

std::optional<Checkpoint> read_forward(const ByteSourcePtr& source, const ReadContext& context) {
  try {
    return read_plain(source, context);
  } catch (const Error& error) {
    // A stream or an archive that is damaged is the cause rather than what was made of it: the long way finds it.
    return std::nullopt;
  }
}

}  // namespace ckpt::torch
