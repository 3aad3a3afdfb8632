#pragma once

#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"

namespace ckpt {

/// Another source, whose recorded CRC-32 is compared while it is read forward for another purpose, in whatever pieces:
/// the read that completes it throws Error (corrupt) where the bytes are not those that were recorded.
class WatchedSource final : public ByteSource {
 public:
  explicit WatchedSource(ByteSourcePtr source);

  [[nodiscard]] std::uint64_t size() const override { return source_->size(); }
  [[nodiscard]] bool size_is_known() const override { return source_->size_is_known(); }
  [[nodiscard]] std::optional<std::uint32_t> recorded_crc32() const override { return source_->recorded_crc32(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override;

  /// Reads what nobody has read yet.
  void finish() const;

 private:
  ByteSourcePtr source_;
  mutable std::uint64_t seen_ = 0;  ///< bytes from the beginning that `crc_` covers
  mutable std::uint32_t crc_ = 0;
};

/// `source` under a watch; itself where it is under one already, so that what is made of parts of it shares that one:
/// whichever part is finished first reads the rest, and the others have nothing left to read.
std::shared_ptr<const WatchedSource> watch(ByteSourcePtr source);

/// The checkpoint's storages, watched. Whether they record a CRC-32 is not asked before they have been read: a stream
/// may tell it behind their bytes. finish_watching() compares what is left.
std::vector<Storage> watched_storages(const Checkpoint& checkpoint);
void finish_watching(const std::vector<Storage>& storages);

}  // namespace ckpt
