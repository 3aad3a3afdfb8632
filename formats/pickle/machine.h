#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/value.h"

namespace ckpt::pickle {

/// A text of a pickle that is long enough to be a file in itself, and where it begins in the source.
struct LongText {
  ValueId value = no_value;
  std::uint64_t at = 0;
  bool is_raw = true;  ///< its bytes stand there as they are: no str, whose bytes are encoded
};
inline constexpr std::uint64_t long_text = 64;

/// What one pickle says, with nothing of it run.
struct Program {
  ValueId root = no_value;
  int protocol = 0;                ///< as its PROTO says; without one, 1 where it has opcodes of that, else 0
  std::uint64_t end = 0;           ///< offset after STOP
  std::vector<ValueId> discarded;  ///< values that the program made, dropped, and that the root does not reach
  std::vector<GlobalUse> globals;  ///< each name once, judged by policy
  std::vector<LongText> texts;     ///< by value, ascending
};

/// Runs a pickle symbolically: every opcode of protocols 0 to 5, no name resolved, no call made. Values go into
/// `graph`; `cap` is what the pickle's bytes may come to. Throws Error: corrupt (stack, memo, operands), unsupported
/// (protocol above 5, out-of-band buffers), truncated, limit_exceeded.
Program run(const ByteSource& source, std::uint64_t offset, ValueGraph& graph,
            std::uint64_t cap = limits::pickle_bytes);

/// The same, but texts of `far_from` bytes or more stay in the source, and do not count for the cap.
Program run_lazily(const ByteSourcePtr& source, std::uint64_t offset, ValueGraph& graph, std::uint64_t cap,
                   std::uint64_t far_from = limits::pickle_far_text);

/// The names of pickles, judged as far as these go.
struct JudgedNames {
  std::vector<GlobalUse> globals;  ///< each once
  std::uint64_t end = 0;           ///< after the last STOP, or the instruction that is refused
  bool whole = false;              ///< none is
};

/// Of all pickles that begin before `until`, one behind the other, as an unpickler reads them that is told to load
/// again and again: its memo goes on. Of so many values as a scan judges. Throws Error: io, out_of_memory.
JudgedNames judge_as_one(const ByteSourcePtr& source, std::uint64_t offset, std::uint64_t until, std::uint64_t cap);

/// A pickle as far as it goes.
struct Salvage {
  Program program;              ///< its root is no_value where nothing was made that could be one
  std::optional<Error> broken;  ///< why it ended early; its byte is Program::end then
};

/// The same of a pickle that may be cut or damaged: where it breaks, what is being filled gets what it has been given
/// so far (entries whose values are there, the attributes of an object), and calls that are not complete are left out.
/// Throws Error: limit_exceeded, io.
Salvage salvage(const ByteSource& source, std::uint64_t offset, ValueGraph& graph,
                std::uint64_t cap = limits::pickle_bytes);

}  // namespace ckpt::pickle
