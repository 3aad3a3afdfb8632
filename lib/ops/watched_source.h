#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"

namespace ckpt {

/// When a watched source says that its bytes are not those that were recorded: as soon as they have all been read, or
/// when it is asked, so that what is said does not depend on which of several threads was the last.
enum class Compared { at_once, when_asked };

/// Another source, whose recorded CRC-32 is compared while it is read forward for another purpose, in whatever pieces:
/// the read that completes it throws Error (corrupt), or compare() and finish() do. What several threads read ahead of
/// each other is put together.
class WatchedSource final : public ByteSource {
 public:
  explicit WatchedSource(ByteSourcePtr source, Compared compared = Compared::at_once);

  [[nodiscard]] std::uint64_t size() const override { return source_->size(); }
  [[nodiscard]] bool size_is_known() const override { return source_->size_is_known(); }
  [[nodiscard]] bool is_concurrent() const override { return source_->is_concurrent(); }
  [[nodiscard]] std::optional<std::uint32_t> recorded_crc32() const override { return source_->recorded_crc32(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override;
  void expect(std::uint64_t offset, std::uint64_t size) const override { source_->expect(offset, size); }

  /// Throws Error (corrupt) where all of it has been read and is not what was recorded.
  void compare() const;
  /// Reads what nobody has read yet, and compares.
  void finish() const;

 private:
  struct Piece {
    std::uint64_t size;
    std::uint32_t crc;
  };

  // For who has the mutex.
  void look_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  void take(const Piece& piece) const;
  void go_on() const;
  void compare_seen() const;

  [[nodiscard]] std::uint64_t seen() const;
  void look_at_together(std::uint64_t offset, std::span<const std::byte> bytes) const;

  ByteSourcePtr source_;
  Compared compared_;
  mutable std::mutex mutex_;  ///< of what follows
  /// What was read beyond `seen_`, by its offset; none where nothing ever was: there are many sources.
  mutable std::unique_ptr<std::map<std::uint64_t, Piece>> ahead_;
  mutable std::uint64_t seen_ = 0;  ///< bytes from the beginning that `crc_` covers
  mutable std::uint32_t crc_ = 0;
};

/// `source` under a watch; itself where it is under one already, so that what is made of parts of it shares that one:
/// whichever part is finished first reads the rest, and the others have nothing left to read.
std::shared_ptr<const WatchedSource> watch(ByteSourcePtr source);

/// The checkpoint's storages, watched. Whether they record a CRC-32 is not asked before they have been read: a stream
/// may tell it behind their bytes. finish_watching() compares what is left.
std::vector<Storage> watched_storages(const Checkpoint& checkpoint, Compared compared = Compared::at_once);
/// `names`: of tensors, for messages.
void finish_watching(const std::vector<Storage>& storages, const Checkpoint* names = nullptr);
/// The same of those that have been read whole.
void compare_watched(const std::vector<Storage>& storages, const Checkpoint* names);

}  // namespace ckpt
