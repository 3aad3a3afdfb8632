#include "ops/watched_source.h"

#include <algorithm>
#include <utility>

#include "ckpt/limits.h"
#include "io/checksum.h"

namespace ckpt {

WatchedSource::WatchedSource(ByteSourcePtr source) : ByteSource(source->name()), source_(std::move(source)) {}

std::size_t WatchedSource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t count = source_->read_at(offset, out);
  if (count == 0 || offset > seen_ || count <= seen_ - offset) return count;
  crc_ = crc32(crc_, out.first(count).subspan(static_cast<std::size_t>(seen_ - offset)));
  seen_ = offset + count;
  if (seen_ == size()) check_recorded_crc32(*source_, crc_);
  return count;
}

void WatchedSource::finish() const {
  if (seen_ == size() || !source_->recorded_crc32()) return;
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min<std::uint64_t>(limits::copy_chunk, size() - seen_)));
  while (seen_ < size())
    read_exactly(seen_, std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), size() - seen_)));
}

std::shared_ptr<const WatchedSource> watch(ByteSourcePtr source) {
  if (auto watched = std::dynamic_pointer_cast<const WatchedSource>(source)) return watched;
  return std::make_shared<const WatchedSource>(std::move(source));
}

std::vector<Storage> watched_storages(const Checkpoint& checkpoint) {
  std::vector<Storage> storages = checkpoint.storages;
  for (Storage& storage : storages)
    if (storage.bytes) storage.bytes = std::make_shared<WatchedSource>(std::move(storage.bytes));
  return storages;
}

void finish_watching(const std::vector<Storage>& storages) {
  for (const Storage& storage : storages)
    if (const auto* watched = dynamic_cast<const WatchedSource*>(storage.bytes.get())) watched->finish();
}

}  // namespace ckpt
