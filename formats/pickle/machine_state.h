#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/value.h"
#include "pickle/machine.h"
#include "pickle/memo.h"
#include "pickle/scanner.h"

/// The machine behind run(): control, stack and memo in machine.cpp, the making of values in machine_values.cpp.
namespace ckpt::pickle {

/// A value on the stack; `fetched` where it was pushed again rather than made here.
struct Slot {
  ValueId id;
  bool fetched;
};

/// What a pickle may make. Tests give smaller ones.
struct MachineCaps {
  std::uint64_t values = limits::pickle_values;
  std::uint64_t memo = limits::pickle_memo;
};

class Machine {
 public:
  Machine(const ByteSource& source, std::uint64_t offset, ValueGraph& graph, std::uint64_t cap,
          const MachineCaps& caps = {})
      : source_(source),
        scanner_(source, offset, cap),
        graph_(graph),
        first_value_(graph.size()),
        caps_(caps),
        memo_(caps.memo) {}

  Program run();

 private:
  Program run_to_stop();
  [[noreturn]] void fail(std::string found, std::string expected = {}, ErrorCode code = ErrorCode::corrupt) const;
  bool step(const Op& op);
  void step_literal(const Op& op);
  void step_container(const Op& op);
  void step_call(const Op& op);
  void step_effect(const Op& op);
  void step_memo(const Op& op);

  /// The stack above the topmost mark; taking the mark away.
  std::vector<Slot> pop_to_mark();
  Slot pop();
  /// The `count` topmost values, lowest first.
  std::vector<Slot> pop(std::size_t count);
  Slot& top();
  /// Pushes a new value made by `op`.
  void made(const Op& op, ValueId id);
  void discard(ValueId id) { program_.discarded.push_back(id); }

  std::int64_t line_integer(const Op& op) const;
  void push_integer(const Op& op, std::string_view twos_complement);
  void push_int_line(const Op& op);
  void push_text(const Op& op, ValueKind kind, std::string_view text);
  ValueId global(std::string_view module, std::string_view name);
  void push_stack_global(const Op& op);
  void effect(const Op& op, EffectKind kind, const std::vector<Slot>& operands);
  void put(std::uint64_t index);
  void get(std::uint64_t index);
  void keep_unreached();

  const ByteSource& source_;
  Scanner scanner_;
  ValueGraph& graph_;
  std::size_t first_value_;
  MachineCaps caps_;
  Program program_;
  std::vector<Slot> stack_;
  std::vector<std::size_t> marks_;
  Memo memo_;
  std::set<std::pair<std::string, std::string>> seen_globals_;
  std::vector<ValueId> operands_;  // reused by ids()
  Time now_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t frame_at_ = 0, frame_size_ = 0, frame_end_ = 0;  // of the last FRAME
  bool declared_ = false;

  std::span<const ValueId> ids(const std::vector<Slot>& slots) {
    operands_.clear();
    for (const Slot& slot : slots) operands_.push_back(slot.id);
    return operands_;
  }
};

}  // namespace ckpt::pickle
