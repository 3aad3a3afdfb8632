#pragma once

#include <cstdint>
#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/limits.h"
#include "io/byte_cursor.h"
#include "pickle/opcodes.h"

namespace ckpt::pickle {

/// One instruction. `text` and `text2` are valid until the next one is read.
struct Op {
  std::uint8_t code = 0;
  std::uint64_t offset = 0;                  ///< of the opcode byte in the source
  std::int64_t integer = 0;                  ///< u8 … u64 (as bits), i32
  double real = 0;                           ///< f64
  std::string_view text;                     ///< a line, or the bytes of a counted string that is not far
  std::uint64_t text_at = 0, text_size = 0;  ///< of a counted string
  bool is_far = false;                       ///< a counted string that was left where it is
  std::string_view text2;                    ///< the second line of two
};

/// Cuts a pickle into instructions. Knows nothing of their meaning.
class Scanner {
 public:
  /// `source` must outlive the scanner. Reads at most `cap` bytes from `offset`. Counted strings of `far_from` bytes or
  /// more are not read, and do not count.
  Scanner(const ByteSource& source, std::uint64_t offset, std::uint64_t cap = limits::pickle_bytes,
          std::uint64_t far_from = UINT64_MAX);

  /// Throws Error: corrupt (no such opcode, a negative length), truncated, limit_exceeded.
  Op next();
  /// Where the next instruction begins; after STOP, where the pickle ends.
  [[nodiscard]] std::uint64_t offset() const { return cursor_.offset(); }

 private:
  std::uint64_t length(Operand operand);
  void counted(Op& op, Operand operand);

  const ByteSource& source_;
  ByteCursor cursor_;
  std::uint64_t far_from_;
  std::string first_line_;
};

}  // namespace ckpt::pickle
