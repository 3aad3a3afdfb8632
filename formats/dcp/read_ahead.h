#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ckpt/byte_source.h"

namespace ckpt::dcp {

class ReadAhead;

/// A source that is read forward in pieces much smaller than a read should be, because others are read in between.
/// For who has ReadAhead::turn().
class ChunkReader {
 public:
  ChunkReader(ByteSourcePtr bytes, std::shared_ptr<ReadAhead> room);
  ~ChunkReader();
  ChunkReader(ChunkReader&& other) noexcept;
  ChunkReader& operator=(ChunkReader&&) = delete;

  /// All of `out`, from `offset` on; where it is read at all, up to `window` bytes are read at once. Throws Error: what
  /// reading throws.
  void read(std::uint64_t offset, std::span<std::byte> out, std::size_t window);

 private:
  friend class ReadAhead;
  void give_back();

  ByteSourcePtr bytes_;
  std::shared_ptr<ReadAhead> room_;
  std::vector<std::byte> held_;
  std::uint64_t begin_ = 0;                ///< of held_
  std::list<ChunkReader*>::iterator use_;  ///< in the room's list, where anything is held
};

/// Room for what the chunks of all tensors of a checkpoint hold. Where it is full, what was read longest ago goes.
class ReadAhead {
 public:
  static constexpr std::size_t bytes = std::size_t{8} << 20U;

  /// Held by who reads one of them, and while one is made or goes: each may take what another holds.
  [[nodiscard]] std::unique_lock<std::mutex> turn() { return std::unique_lock(mutex_); }

 private:
  friend class ChunkReader;
  std::mutex mutex_;
  std::list<ChunkReader*> users_;  ///< last used first
  std::size_t held_ = 0;
};

}  // namespace ckpt::dcp
