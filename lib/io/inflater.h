#pragma once

#include <isa-l.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "io/compressed_input.h"

namespace ckpt {

/// One deflate stream (RFC 1951), inflated forward by ISA-L. A copy of it, together with the input's position, is all
/// that is needed to go on from there later: the window is inside, and the pointers are set anew in every call.
class Inflater {
 public:
  Inflater() { begin(); }

  /// Forgets everything: the next byte of input begins a stream.
  void begin();

  /// Fills `out` from `input`; fewer bytes only where the stream ends, and `input` then stands on the byte after it, or
  /// where it is damaged or cut off: then the next call throws. What came before the damage can so be had.
  /// Throws Error: corrupt, truncated, at the byte of the input.
  std::size_t inflate(CompressedInput& input, std::span<std::byte> out);

  /// True when the end of the stream was met and all of its bytes were given out.
  [[nodiscard]] bool finished() const { return engine_.block_state == ISAL_BLOCK_FINISH; }

  /// Bytes that are inflated and not given out yet: up to 64 KiB, which input has been taken for already.
  [[nodiscard]] std::uint64_t held() const {
    return static_cast<std::uint64_t>(engine_.tmp_out_valid - engine_.tmp_out_processed);
  }

 private:
  std::size_t give_rest(std::span<std::byte> out);

  inflate_state engine_{};
  int fault_ = 0;
};

}  // namespace ckpt
