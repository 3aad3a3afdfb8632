#include "ops/watched_source.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/checksum.h"

namespace ckpt {

WatchedSource::WatchedSource(ByteSourcePtr source, Compared compared)
    : ByteSource(source->source_name()), source_(std::move(source)), compared_(compared) {}

std::size_t WatchedSource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t count = source_->read_at(offset, out);
  if (count == 0) return 0;
  if (is_concurrent()) {
    if (source_->recorded_crc32()) look_at_together(offset, out.first(count));
    return count;
  }
  const std::lock_guard lock(mutex_);
  look_at(offset, out.first(count));
  return count;
}

void WatchedSource::compare() const {
  const std::lock_guard lock(mutex_);
  compare_seen();
}

void WatchedSource::compare_seen() const {
  if (seen_ == size()) check_recorded_crc32(*source_, crc_);
}

/// Goes on with what begins at seen_, or before it.
void WatchedSource::look_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  if (offset > seen_ || bytes.size() <= seen_ - offset) return;
  crc_ = crc32(crc_, bytes.subspan(static_cast<std::size_t>(seen_ - offset)));
  seen_ = offset + bytes.size();
  go_on();
  if (compared_ == Compared::at_once) compare_seen();
}

void WatchedSource::look_at_together(std::uint64_t offset, std::span<const std::byte> bytes) const {
  {
    const std::lock_guard lock(mutex_);
    if (offset + bytes.size() <= seen_) return;
    // Whoever reads here and there leaves gaps; finish() reads those again.
    constexpr std::size_t most_ahead = 256;
    const bool room = offset == seen_ || !ahead_ || ahead_->size() < most_ahead;
    if (offset < seen_ || !room) return look_at(offset, bytes);
  }
  const Piece piece{bytes.size(), crc32(0, bytes)};
  const std::lock_guard lock(mutex_);
  if (offset < seen_) return look_at(offset, bytes);
  if (offset > seen_) {
    if (!ahead_) ahead_ = std::make_unique<std::map<std::uint64_t, Piece>>();
    ahead_->emplace(offset, piece);
    return;
  }
  take(piece);
  go_on();
  if (compared_ == Compared::at_once) compare_seen();
}

void WatchedSource::take(const Piece& piece) const {
  crc_ = seen_ == 0 ? piece.crc : crc32_of_both(crc_, piece.crc, piece.size);
  seen_ += piece.size;
}

/// Goes on with what was read ahead and follows.
void WatchedSource::go_on() const {
  while (ahead_ && !ahead_->empty() && ahead_->begin()->first <= seen_) {
    const auto& [offset, piece] = *ahead_->begin();
    if (offset == seen_) take(piece);  // else two have read it
    ahead_->erase(ahead_->begin());
  }
}

void WatchedSource::finish() const {
  if (!source_->recorded_crc32()) return;
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min<std::uint64_t>(limits::copy_chunk, size() - seen())));
  for (std::uint64_t at = seen(); at < size(); at = seen())
    read_exactly(at, std::span(chunk).first(std::min<std::uint64_t>(chunk.size(), size() - at)));
  compare();
}

std::uint64_t WatchedSource::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::shared_ptr<const WatchedSource> watch(ByteSourcePtr source) {
  if (auto watched = std::dynamic_pointer_cast<const WatchedSource>(source)) return watched;
  return std::make_shared<const WatchedSource>(std::move(source));
}

std::vector<Storage> watched_storages(const Checkpoint& checkpoint, Compared compared) {
  std::vector<Storage> storages = checkpoint.storages;
  for (Storage& storage : storages)
    if (storage.bytes) storage.bytes = std::make_shared<WatchedSource>(std::move(storage.bytes), compared);
  return storages;
}

namespace {

bool lies_in(const Tensor& tensor, std::size_t storage) {
  const auto has = [&](const Tensor::Part& part) { return lies_in(part.tensor, storage); };
  return tensor.storage == storage || std::any_of(tensor.parts.begin(), tensor.parts.end(), has);
}

/// The first tensor in the storage says where in the model it is.
Error named(Error error, const Checkpoint& checkpoint, std::size_t storage) {
  for (const NamedTensor& tensor : tensor_names(checkpoint))
    if (lies_in(*tensor.tensor, storage))
      return error.within(tensor.name.empty() ? "the tensor" : "tensor '" + tensor.name + "'");
  return error;
}

template <class Use>
void each_watched(const std::vector<Storage>& storages, const Checkpoint* names, Use use) {
  for (std::size_t i = 0; i < storages.size(); ++i) {
    const auto* const watched = dynamic_cast<const WatchedSource*>(storages[i].bytes.get());
    if (watched == nullptr) continue;
    try {
      use(*watched);
    } catch (const Error& error) {
      throw names == nullptr ? error : named(error, *names, i);
    }
  }
}

}  // namespace

void finish_watching(const std::vector<Storage>& storages, const Checkpoint* names) {
  each_watched(storages, names, [](const WatchedSource& watched) { watched.finish(); });
}

void compare_watched(const std::vector<Storage>& storages, const Checkpoint* names) {
  each_watched(storages, names, [](const WatchedSource& watched) { watched.compare(); });
}

}  // namespace ckpt
