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

/// A place in a compressed stream: how many bytes lie before it, as they are and inflated.
struct InflatingPlace {
  std::uint64_t compressed = 0, inflated = 0;
};

/// Counts what compressed streams are inflated to while they are read here and there. Any thread may call it.
class InflatingBudget {
 public:
  /// Compressed bytes that stand for nothing (empty blocks, empty members) take as long as so many that are inflated;
  /// the first of them are free.
  static constexpr std::uint64_t cost_of_nothing = 1024, free_nothing = 8 * limits::mib;

  /// Bytes that a decoder may take before it needs them, and gives back where its stream ends.
  static constexpr std::uint64_t taken_ahead = 8;

  /// A stream was inflated from `begin` to `end` (or not so far where it is damaged: a decoder drops what it holds).
  /// `farthest`: the stream's own, to which it was inflated so far; one thread at a time. Throws Error
  /// (limit_exceeded), naming `stream`.
  void spend(InflatingPlace begin, InflatingPlace end, InflatingPlace& farthest, const std::string& stream) {
    const auto within = [](std::uint64_t from, std::uint64_t to, std::uint64_t most) {
      from = std::min(from, most);
      return std::max(std::min(to, most), from) - from;
    };
    const std::uint64_t known = farthest.compressed - std::min(farthest.compressed, taken_ahead);
    const std::uint64_t compressed = within(begin.compressed, end.compressed, known);
    const std::uint64_t inflated = within(begin.inflated, end.inflated, farthest.inflated);
    const std::uint64_t nothing = compressed - std::min(compressed, inflated);
    const std::uint64_t before = std::exchange(farthest.inflated, std::max(farthest.inflated, end.inflated));
    farthest.compressed = std::max(farthest.compressed, end.compressed);
    const std::uint64_t size = size_ += farthest.inflated - before;
    const std::uint64_t all_nothing = nothing_ += nothing;
    const std::uint64_t costly = std::min(nothing, all_nothing - std::min(all_nothing, free_nothing));
    const std::uint64_t spent = spent_ +=
        end.inflated - std::min(begin.inflated, end.inflated) + costly * cost_of_nothing;
    if (spent <= limits::reinflated_cap(size)) return;
    throw Error(ErrorCode::limit_exceeded, "its compressed bytes would be inflated more than " +
                                               std::to_string(limits::reinflated_ratio) + " times over")
        .expected("tensors that lie one behind the other, or a file that is not compressed")
        .in(stream)
        .hint("ckpt convert IN PLAIN --no-gzip, then this command on PLAIN");
  }

 private:
  std::atomic<std::uint64_t> spent_ = 0, size_ = 0, nothing_ = 0;
};

/// What the streams of one file share.
struct InflatingShare {
  /// Of many streams so many keep their buffers: those that were read last.
  static constexpr std::size_t most_at_once = 16;

  RecentlyUsed buffers{most_at_once};
  InflatingBudget budget;
};

}  // namespace ckpt
