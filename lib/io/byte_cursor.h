#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_source.h"

namespace ckpt {

/// Reads a source forward through a window, a piece at a time. Memory grows only as bytes arrive, so a length that a
/// file merely claims costs nothing.
class ByteCursor {
 public:
  /// `limit`: bytes that may be read from `offset` on; past it limit_exceeded is thrown, which calls them `what`.
  ByteCursor(const ByteSource& source, std::uint64_t offset, std::uint64_t limit, std::string what);

  /// Where the next byte comes from.
  [[nodiscard]] std::uint64_t offset() const { return base_ + next_; }

  /// The next `count` bytes; valid until the next call. Throws truncated (saying that `count` bytes were expected).
  std::span<const std::byte> take(std::uint64_t count) {
    if (filled_ - next_ < count) require(count);
    const std::span<const std::byte> bytes(window_.data() + next_, static_cast<std::size_t>(count));
    next_ += bytes.size();
    return bytes;
  }
  /// What has been read ahead; valid until the next call.
  [[nodiscard]] std::span<const std::byte> ready() const { return std::span(window_).subspan(next_, filled_ - next_); }
  /// Takes bytes that are ready.
  void pass(std::size_t count) { next_ += count; }
  /// Leaves out the next `count` bytes, which count for no limit; whether the source has them is not looked at.
  void skip(std::uint64_t count);
  /// Up to and without the next newline, which is skipped. Throws truncated, limit_exceeded past `longest`.
  std::string_view take_line(std::uint64_t longest);

 private:
  /// Makes at least `count` bytes available, or throws truncated.
  void require(std::uint64_t count);
  /// Makes at least `count` bytes available; false where the source ends before.
  bool fill(std::uint64_t count);

  const ByteSource& source_;
  std::uint64_t base_;  ///< offset of window_[0]
  std::uint64_t end_;
  std::string what_;
  std::vector<std::byte> window_;
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace ckpt
