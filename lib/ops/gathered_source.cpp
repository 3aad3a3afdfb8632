#include "ops/gathered_source.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "ops/tensor_bytes.h"
#include "ops/watched_source.h"

namespace ckpt {
namespace {

class GatheredSource final : public ByteSource {
 public:
  GatheredSource(Storage storage, std::shared_ptr<const WatchedSource> watched, TensorInfo info,
                 std::optional<std::uint64_t> block)
      : ByteSource(watched->source_name()),
        storage_(std::move(storage)),
        watched_(std::move(watched)),
        info_(std::move(info)),
        size_(logical_bytes(info_)),
        block_(block) {
    storage_.bytes = watched_;
    const TensorStream checks_the_geometry(storage_, info_);
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - std::min(offset, size_)));
    if (wanted == 0) return 0;
    const std::lock_guard lock(mutex_);
    if (!stream_ || offset < at_) begin_again();
    std::size_t have = 0;
    while (have < wanted) {
      if (piece_.empty()) piece_ = next_piece();
      const auto skip = static_cast<std::size_t>(std::min<std::uint64_t>(piece_.size(), offset + have - at_));
      const std::size_t count = std::min(piece_.size() - skip, wanted - have);
      std::copy_n(piece_.begin() + static_cast<std::ptrdiff_t>(skip), count,
                  out.begin() + static_cast<std::ptrdiff_t>(have));
      have += count;
      at_ += skip + count;
      piece_ = piece_.subspan(skip + count);
    }
    if (at_ == size_) end();
    return wanted;
  }

 private:
  void begin_again() const {
    stream_.reset();
    stream_.emplace(storage_, info_, block_);
    piece_ = {};
    at_ = 0;
  }

  std::span<const std::byte> next_piece() const {
    try {
      return stream_->next();
    } catch (...) {
      stream_.reset();
      throw;
    }
  }

  /// What no element shows is read as well, so that the checksum is compared.
  void end() const {
    stream_.reset();
    piece_ = {};
    watched_->finish();
  }

  Storage storage_;
  std::shared_ptr<const WatchedSource> watched_;  ///< storage_.bytes
  TensorInfo info_;
  std::uint64_t size_;
  std::optional<std::uint64_t> block_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::optional<TensorStream> stream_;
  mutable std::span<const std::byte> piece_;  ///< what is left of the stream's last piece
  mutable std::uint64_t at_ = 0;              ///< of piece_'s first byte
};

}  // namespace

ByteSourcePtr gathered_source(Storage storage, const TensorInfo& info, std::optional<std::uint64_t> block) {
  auto watched = watch(storage.bytes);
  return std::make_shared<GatheredSource>(std::move(storage), std::move(watched), info, block);
}

}  // namespace ckpt
