#include "pickle/scanner.h"

#include <cstdio>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"

namespace ckpt::pickle {

Scanner::Scanner(const ByteSource& source, std::uint64_t offset, std::uint64_t cap, std::uint64_t far_from)
    : source_(source), cursor_(source, offset, cap, "the pickle"), far_from_(far_from) {}

std::uint64_t Scanner::length(Operand operand) {
  switch (operand) {
    case Operand::bytes_u8:
      return load_le<std::uint8_t>(cursor_.take(1).data());
    case Operand::bytes_u32:
      return load_le<std::uint32_t>(cursor_.take(4).data());
    case Operand::bytes_u64:
      return load_le<std::uint64_t>(cursor_.take(8).data());
    default:
      break;
  }
  const std::uint64_t where = cursor_.offset();
  const auto count = load_le<std::int32_t>(cursor_.take(4).data());
  if (count < 0)
    throw Error(ErrorCode::corrupt, "the pickle holds a string of length " + std::to_string(count))
        .at(where)
        .in(source_.name());
  return static_cast<std::uint64_t>(count);
}

void Scanner::counted(Op& op, Operand operand) {
  op.text_size = length(operand);
  op.text_at = cursor_.offset();
  op.is_far = op.text_size >= far_from_ && op.code != LONG4 && op.code != LONG1;
  if (!op.is_far) {
    op.text = as_text(cursor_.take(op.text_size));
    return;
  }
  const std::uint64_t end = checked_add(op.text_at, op.text_size).value_or(UINT64_MAX);
  std::byte last{};
  if (source_.read_at(end - 1, {&last, 1}) == 0)
    throw Error(ErrorCode::truncated, "the pickle ends within a string of " + std::to_string(op.text_size) + " bytes")
        .at(op.text_at)
        .in(source_.name());
  cursor_.skip(op.text_size);
}

bool Scanner::meet_frame_end() {
  const bool opens = op_.code == FRAME;
  const bool inside = frame_.at < op_.offset && op_.offset < frame_.end;
  const std::uint64_t end =
      opens ? checked_add(cursor_.offset(), static_cast<std::uint64_t>(op_.integer)).value_or(UINT64_MAX)
            : cursor_.offset();
  const bool leaves = inside && end > frame_.end;
  if (!opens)
    frame_ = {};
  else if (!inside || leaves)  // one within another ends nothing
    frame_ = {op_.offset, static_cast<std::uint64_t>(op_.integer), end};
  return leaves;
}

const Op& Scanner::next_of_any() {
  Op& op = op_ = {};
  op.offset = cursor_.offset();
  op.code = load_le<std::uint8_t>(cursor_.take(1).data());
  const OpcodeInfo& info = opcode_table[op.code];
  if (info.name.empty()) {
    char code[8];
    std::snprintf(code, sizeof code, "0x%02x", static_cast<unsigned>(op.code));
    throw Error(ErrorCode::corrupt, std::string("byte ") + code + " is no pickle opcode")
        .at(op.offset)
        .in(source_.name());
  }
  switch (info.operand) {
    case Operand::none:
      break;
    case Operand::line:
      op.text = cursor_.take_line(limits::pickle_line);
      break;
    case Operand::two_lines:
      first_line_ = cursor_.take_line(limits::pickle_line);
      op.text2 = cursor_.take_line(limits::pickle_line);
      op.text = first_line_;
      break;
    case Operand::u8:
      op.integer = load_le<std::uint8_t>(cursor_.take(1).data());
      break;
    case Operand::u16:
      op.integer = load_le<std::uint16_t>(cursor_.take(2).data());
      break;
    case Operand::i32:
      op.integer = load_le<std::int32_t>(cursor_.take(4).data());
      break;
    case Operand::u32:
      op.integer = load_le<std::uint32_t>(cursor_.take(4).data());
      break;
    case Operand::u64:
      op.integer = load_le<std::int64_t>(cursor_.take(8).data());
      break;
    case Operand::f64:
      op.real = load_be<double>(cursor_.take(8).data());
      break;
    case Operand::bytes_u8:
    case Operand::bytes_u32:
    case Operand::bytes_u64:
    case Operand::bytes_i32:
      counted(op, info.operand);
      break;
  }
  return op;
}

}  // namespace ckpt::pickle
