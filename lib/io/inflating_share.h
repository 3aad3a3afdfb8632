#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/recently_used.h"

namespace ckpt {

/// Counts what compressed streams are inflated to while they are read here and there. Any thread may call it.
class InflatingBudget {
 public:
  /// A stream was inflated from `begin` to `end`. `farthest`: the stream's own, to which it was inflated so far; one
  /// thread at a time. Throws Error (limit_exceeded), naming `stream`.
  void spend(std::uint64_t begin, std::uint64_t end, std::uint64_t& farthest, const std::string& stream) {
    const std::uint64_t before = std::exchange(farthest, std::max(farthest, end));
    const std::uint64_t size = size_ += farthest - before, spent = spent_ += end - begin;
    if (spent <= limits::reinflated_cap(size)) return;
    throw Error(ErrorCode::limit_exceeded, "its compressed bytes would be inflated more than " +
                                               std::to_string(limits::reinflated_ratio) + " times over")
        .expected("tensors that lie one behind the other, or a file that is not compressed")
        .in(stream)
        .hint("ckpt convert IN PLAIN --no-gzip, then this command on PLAIN");
  }

 private:
  std::atomic<std::uint64_t> spent_ = 0, size_ = 0;
};

/// What the streams of one file share.
struct InflatingShare {
  /// Of many streams so many keep their buffers: those that were read last.
  static constexpr std::size_t most_at_once = 16;

  RecentlyUsed buffers{most_at_once};
  InflatingBudget budget;
};

}  // namespace ckpt
