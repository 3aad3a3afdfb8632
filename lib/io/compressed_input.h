#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ckpt/byte_source.h"

namespace ckpt {

/// A buffered forward reader of a source's bytes, which knows where it stands and may be set elsewhere.
class CompressedInput {
 public:
  explicit CompressedInput(ByteSourcePtr source);

  /// The bytes at hand; reads more where there are none. Empty only at the end of the source.
  std::span<const std::byte> available();
  /// At least `count` bytes (a few) at hand, fewer only at the end of the source.
  std::span<const std::byte> require(std::size_t count);
  void consume(std::size_t count) { next_ += count; }

  /// Offset in the source of the next byte.
  [[nodiscard]] std::uint64_t position() const { return begin_ + next_; }
  void seek(std::uint64_t position);

  [[nodiscard]] const ByteSource& source() const { return *source_; }

 private:
  ByteSourcePtr source_;
  std::size_t capacity_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint64_t begin_ = 0;  // offset in the source of buffer_[0]
  std::size_t next_ = 0;
  std::size_t end_ = 0;
};

}  // namespace ckpt
