#include "ops/cast_source.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "ckpt/limits.h"
#include "ops/cast_elements.h"
#include "ops/storage_window.h"
#include "ops/watched_source.h"

namespace ckpt {
namespace {

class CastSource final : public ByteSource {
 public:
  CastSource(Storage storage, std::shared_ptr<const WatchedSource> watched, DType from, DType to)
      : ByteSource(watched->name()),
        storage_(std::move(storage)),
        watched_(std::move(watched)),
        from_(from),
        to_(to),
        from_size_(dtype_size(from)),
        to_size_(dtype_size(to)),
        elements_(storage_.nbytes / from_size_) {
    storage_.bytes = watched_;
  }

  // The storage knows how many bytes it has before anybody has read them.
  [[nodiscard]] std::uint64_t size() const override { return elements_ * to_size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - std::min(offset, size())));
    if (wanted == 0) return 0;
    if (!window_) window_.emplace(storage_, elements_ * from_size_, limits::copy_chunk);
    for (std::size_t done = 0; done < wanted;) done += read_some(offset + done, out.subspan(done, wanted - done));
    if (offset + wanted == size()) end();
    return wanted;
  }

 private:
  std::size_t read_some(std::uint64_t offset, std::span<std::byte> out) const {
    const auto in = window_->from(offset / to_size_ * from_size_);
    const auto skip = static_cast<std::size_t>(offset % to_size_);
    if (skip == 0 && out.size() >= to_size_) {
      const std::size_t count = std::min(in.size() / from_size_, out.size() / to_size_);
      cast_elements(from_, to_, in.first(count * from_size_), out);
      return count * to_size_;
    }
    std::array<std::byte, sizeof(double)> element{};
    cast_elements(from_, to_, in.first(from_size_), element);
    const std::size_t count = std::min(to_size_ - skip, out.size());
    std::copy_n(element.begin() + static_cast<std::ptrdiff_t>(skip), count, out.begin());
    return count;
  }

  /// What makes no element is read as well, so that the checksum is compared.
  void end() const {
    window_.reset();
    watched_->finish();
  }

  Storage storage_;
  std::shared_ptr<const WatchedSource> watched_;  ///< storage_.bytes
  DType from_, to_;
  std::size_t from_size_, to_size_;
  std::uint64_t elements_;
  mutable std::optional<StorageWindow> window_;
};

}  // namespace

ByteSourcePtr cast_source(Storage storage, DType from, DType to) {
  auto watched = watch(storage.bytes);
  return std::make_shared<CastSource>(std::move(storage), std::move(watched), from, to);
}

}  // namespace ckpt
