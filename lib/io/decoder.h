#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "io/inflater.h"

namespace ckpt {

/// Where a decoder stands: all that it needs to go on from there, but for the compressed bytes. Plain data, some 88
/// KiB.
struct DecoderPosition {
  enum class Phase { header, body, trailer, ended };

  Phase phase = Phase::header;
  std::uint64_t input = 0;          ///< offset in the compressed source
  std::uint64_t output = 0;         ///< bytes given out so far
  std::uint64_t member = 0;         ///< number of the member, from 1 on
  std::uint64_t member_output = 0;  ///< bytes of it so far
  std::uint32_t crc = 0;            ///< CRC-32 of those
  Inflater inflater;
};

/// Turns compressed bytes into bytes, forward only. InflatingSource makes random access of it.
class Decoder {
 public:
  using Phase = DecoderPosition::Phase;

  explicit Decoder(ByteSourcePtr compressed) : input_(std::move(compressed)) {}
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// Bytes of the stream, at least one, at most out.size(); 0 only at its end, whose checks then have been made.
  /// Throws Error (corrupt, truncated, io); then restore() must be called before anything else.
  virtual std::size_t produce(std::span<std::byte> out) = 0;

  [[nodiscard]] Phase phase() const { return at_.phase; }
  [[nodiscard]] std::uint64_t output() const { return at_.output; }

  [[nodiscard]] const DecoderPosition& position() {
    at_.input = input_.position();
    return at_;
  }
  void restore(const DecoderPosition& position) {
    at_ = position;
    input_.seek(position.input);
  }

 protected:
  CompressedInput input_;
  DecoderPosition at_;
};

}  // namespace ckpt
