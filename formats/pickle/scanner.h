#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/limits.h"
#include "io/byte_cursor.h"
#include "io/bytes.h"
#include "pickle/opcodes.h"

namespace ckpt::pickle {

/// One instruction; of its operands, those that it has. `text` and `text2` are valid until the next one is read.
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

/// The bytes that a FRAME says belong together: CPython takes them into memory in one piece.
struct Frame {
  std::uint64_t at = UINT64_MAX;  ///< of the FRAME itself
  std::uint64_t size = 0;
  std::uint64_t end = UINT64_MAX;  ///< behind the last byte, if that is a place
};

/// Cuts a pickle into instructions. Of their meaning it knows frames alone.
class Scanner {
 public:
  /// `source` must outlive the scanner. Reads at most `cap` bytes from `offset`. Counted strings of `far_from` bytes or
  /// more are not read, and do not count.
  Scanner(const ByteSource& source, std::uint64_t offset, std::uint64_t cap = limits::pickle_bytes,
          std::uint64_t far_from = UINT64_MAX);

  /// Throws Error: corrupt (no such opcode, a negative length), truncated, limit_exceeded.
  /// What it returns is valid until the next call.
  const Op& next() {
    const std::span<const std::byte> ready = cursor_.ready();
    if (ready.size() <= sizeof(std::uint64_t)) return next_of_any();
    const std::byte* const from = ready.data();
    const auto code = std::to_integer<std::uint8_t>(*from);
    switch (short_operands[code]) {
      case Operand::none:
        return take(code, 0, 0);
      case Operand::u8:
        return take(code, load_le<std::uint8_t>(from + 1), 1);
      case Operand::u16:
        return take(code, load_le<std::uint16_t>(from + 1), 2);
      case Operand::u32:
        return take(code, load_le<std::uint32_t>(from + 1), 4);
      default:
        return next_of_any();
    }
  }
  /// To be asked after each next(): whether that instruction, or the frame that it opens, begins within a frame and
  /// ends behind it. CPython's reader in C throws the rest of the frame away then and reads on behind it, so that from
  /// there on it follows another program; the one in Python refuses it, and no pickler writes it.
  [[nodiscard]] bool leaves_frame() { return (op_.code == FRAME || cursor_.offset() > frame_.end) && meet_frame_end(); }
  /// The frame that ends behind what was read; null where none does.
  [[nodiscard]] const Frame* open_frame() const {
    return frame_.at != UINT64_MAX && frame_.end > cursor_.offset() ? &frame_ : nullptr;
  }
  /// Where the next instruction begins; after STOP, where the pickle ends.
  [[nodiscard]] std::uint64_t offset() const { return cursor_.offset(); }
  /// How far the source has been read.
  [[nodiscard]] std::uint64_t read() const { return cursor_.offset() + cursor_.ready().size(); }

 private:
  /// Operands of the instructions that are most of every pickle; what is not one of those has `line` here.
  static constexpr std::array<Operand, 256> short_operands = [] {
    std::array<Operand, 256> operands{};
    operands.fill(Operand::line);
    for (const OpcodeInfo& info : opcode_list)
      if (info.operand == Operand::none || info.operand == Operand::u8 || info.operand == Operand::u16 ||
          info.operand == Operand::u32)
        operands[info.code] = info.operand;
    return operands;
  }();

  const Op& take(std::uint8_t code, std::int64_t integer, std::size_t operand_size) {
    op_.code = code;
    op_.offset = cursor_.offset();
    op_.integer = integer;
    cursor_.pass(1 + operand_size);
    return op_;
  }

  const Op& next_of_any();
  bool meet_frame_end();
  std::uint64_t length(Operand operand);
  void counted(Op& op, Operand operand);

  const ByteSource& source_;
  ByteCursor cursor_;
  std::uint64_t far_from_;
  std::string first_line_;
  Op op_;
  Frame frame_;
};

}  // namespace ckpt::pickle
