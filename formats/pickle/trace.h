#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "pickle/call_policy.h"

/// What the instructions of a pickle name and call, followed without making a value. machine.h builds the object graph,
/// and refuses what no graph can say; this follows a program as far as any of Python's unpicklers would run it, keeps
/// what came before a break, and holds no more than stack, memo and names.
namespace ckpt::pickle {

/// A name that is imported, once for each.
struct TracedName {
  std::string module, name;
  Verdict verdict = Verdict::unknown;
  std::uint64_t offset = 0;      ///< of the instruction that imports it first
  std::vector<std::uint8_t> by;  ///< the opcodes that import it, call it or give what it makes a state; each once
  bool is_odd = false;       ///< spelt as no module is, or nothing of one: bytes that are no pickle name such by chance
  std::uint64_t pushed = 0;  ///< how often it comes onto the stack, or is changed there
  /// How often REDUCE takes it from there with what it can be judged by: with one argument, which is bytes; with a name
  /// to make or to call, where it does that (see call_policy.h).
  std::uint64_t called_as_judged = 0;
  CallRisk risk{};

  /// Of what is suspect, and no import: "(number)", "(text)".
  [[nodiscard]] bool is_suspicion() const { return module.starts_with('('); }
};

/// "STACK_GLOBAL, REDUCE"
std::string opcodes_of(const TracedName& name);
/// Whether any of them is a call.
bool is_called(const TracedName& name);

/// Whether it makes a stream of bytes, which may be given to what loads them.
inline bool is_stream(const TracedName& name) { return name.module == "_io" && name.name == "BytesIO"; }

/// Bytes or a text, as an argument of a call of a dangerous name, or in a stream.
struct TracedBytes {
  std::size_t name = 0;  ///< index into Trace::names
  ByteSourcePtr bytes;
  bool in_place = false;  ///< they stand in the source as they are,
  std::uint64_t at = 0;   ///< from this byte on
};

struct Trace {
  std::vector<TracedName> names;
  std::vector<TracedBytes> given;
  std::uint64_t instructions = 0;
  std::uint64_t end = 0;        ///< after STOP, or where it broke off
  std::uint64_t read = 0;       ///< how far the bytes have been read to find that out
  bool announced = false;       ///< it begins with PROTO
  bool changes = false;         ///< it gives items or a state to what it imported or made
  bool fetches = false;         ///< from the memo
  bool lacks = false;           ///< fetches what it has not stored, of a memo that goes on
  bool persists = false;        ///< it has ids of what its loader knows, as torch's storages are
  bool makes_plain = false;     ///< neither a container nor what is named or called: a number, say
  bool odd_frame = false;       ///< a frame ends within an instruction or behind STOP: who reads it goes on elsewhere
  std::optional<Error> broken;  ///< why there was no STOP

  [[nodiscard]] bool past_a_cap() const { return broken && broken->code() == ErrorCode::limit_exceeded; }
};

struct TraceOptions {
  std::uint64_t cap = limits::pickle_bytes;  ///< bytes that it may span; texts that are not looked at do not count
  /// Instructions after which bytes that named nothing so far are taken for none.
  std::uint64_t patience = UINT64_MAX;
  /// Pickles came before it, whose memo a program that reads on may still have.
  bool continued = false;
  /// Whatever begins before it is read as well, by one unpickler, whose memo goes on from each pickle to the next.
  std::uint64_t until = 0;
  std::uint64_t values = limits::scan_values;
  std::uint64_t text_bytes = limits::scan_text_bytes;
};

/// Throws Error: io, out_of_memory; everything else breaks the trace.
Trace trace(const ByteSourcePtr& source, std::uint64_t offset, const TraceOptions& options = {});

}  // namespace ckpt::pickle
