#include "ops/cast_source.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "ckpt/limits.h"
#include "ops/cast_elements.h"
#include "ops/storage_window.h"
#include "ops/watched_source.h"

namespace ckpt {
namespace {

class CastSource final : public ByteSource {
 public:
  CastSource(const Storage& storage, std::shared_ptr<const WatchedSource> watched, DType from, DType to, bool negated)
      : ByteSource(watched->source_name()),
        watched_(std::move(watched)),
        nbytes_(storage.nbytes),
        storage_dtype_(storage.dtype),
        byte_order_(storage.byte_order),
        typed_(storage.typed),
        from_(from),
        to_(to),
        negated_(negated) {}

  // The storage knows how many bytes it has before anybody has read them.
  [[nodiscard]] std::uint64_t size() const override { return elements() * dtype_size(to_); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - std::min(offset, size())));
    if (wanted == 0) return 0;
    const std::lock_guard lock(mutex_);
    if (!reading_) reading_ = std::make_unique<Reading>(*this);
    for (std::size_t done = 0; done < wanted;) done += read_some(offset + done, out.subspan(done, wanted - done));
    if (offset + wanted == size()) end();
    return wanted;
  }

 private:
  /// What it takes while it is read: of tens of thousands, one or a few are.
  struct Reading {
    explicit Reading(const CastSource& of)
        : storage({.key = {},
                   .dtype = of.storage_dtype_,
                   .typed = of.typed_,
                   .location = {},
                   .nbytes = of.nbytes_,
                   .byte_order = of.byte_order_,
                   .bytes = of.watched_}),
          window(storage, of.elements() * dtype_size(of.from_), limits::copy_chunk) {}
    Storage storage;
    StorageWindow window;
  };

  [[nodiscard]] std::uint64_t elements() const { return nbytes_ / dtype_size(from_); }

  std::size_t read_some(std::uint64_t offset, std::span<std::byte> out) const {
    const std::size_t from_size = dtype_size(from_), to_size = dtype_size(to_);
    const auto in = reading_->window.from(offset / to_size * from_size);
    const auto skip = static_cast<std::size_t>(offset % to_size);
    if (skip == 0 && out.size() >= to_size) {
      const std::size_t count = std::min(in.size() / from_size, out.size() / to_size);
      convert(in.first(count * from_size), out.first(count * to_size));
      return count * to_size;
    }
    std::array<std::byte, sizeof(double)> element{};
    convert(in.first(from_size), std::span(element).first(to_size));
    const std::size_t count = std::min(to_size - skip, out.size());
    std::copy_n(element.begin() + static_cast<std::ptrdiff_t>(skip), count, out.begin());
    return count;
  }

  void convert(std::span<const std::byte> in, std::span<std::byte> out) const {
    cast_elements(from_, to_, in, out);
    if (!negated_) return;
    const std::size_t size = dtype_size(to_);
    for (std::size_t last = size - 1; last < out.size(); last += size) out[last] ^= std::byte{0x80};  // the sign's byte
  }

  /// What makes no element is read as well, so that the checksum is compared.
  void end() const {
    reading_.reset();
    watched_->finish();
  }

  std::shared_ptr<const WatchedSource> watched_;  ///< the storage's bytes
  std::uint64_t nbytes_;
  DType storage_dtype_;
  ByteOrder byte_order_;
  bool typed_;
  DType from_, to_;
  bool negated_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::unique_ptr<Reading> reading_;
};

}  // namespace

ByteSourcePtr cast_source(const Storage& storage, DType from, DType to, bool negated) {
  return std::make_shared<CastSource>(storage, watch(storage.bytes), from, to, negated);
}

}  // namespace ckpt
