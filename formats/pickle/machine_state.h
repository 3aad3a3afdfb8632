#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/value.h"
#include "pickle/global_uses.h"
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
  std::uint64_t far_from = UINT64_MAX;  ///< bytes of a text that stays in the source
  std::uint64_t until = 0;              ///< pickles that begin before are read as well
  /// What calls may be given again and again: bytes, and as a multiple of what there is to give (see count_sharing).
  std::uint64_t shared = limits::pickle_shared;
  std::uint64_t shared_ratio = limits::pickle_shared_ratio;
};

class Machine {
 public:
  Machine(const ByteSource& source, std::uint64_t offset, ValueGraph& graph, std::uint64_t cap,
          const MachineCaps& caps = {})
      : source_(source),
        begin_(offset),
        scanner_(source, offset, cap, caps.far_from),
        graph_(graph),
        first_value_(graph.size()),
        caps_(caps),
        memo_(caps.memo) {
    caps_.values = std::min(caps_.values, limits::pickle_value_cap(cap));
    caps_.shared = std::min(caps_.shared, caps_.shared_ratio * std::min(cap, caps_.shared));
    // Of a source that is more than a pickle, this is more than it needs: room that is never touched.
    const std::uint64_t size = source.size_is_known() ? source.size() : 0;
    graph_.reserve_for(static_cast<std::size_t>(std::min({size - std::min(size, offset), cap, 16 * limits::mib})));
  }

  /// With texts left in a source, which they hold on to.
  Machine(ByteSourcePtr source, std::uint64_t offset, ValueGraph& graph, std::uint64_t cap, const MachineCaps& caps)
      : Machine(*source, offset, graph, cap, caps) {
    shared_source_ = std::move(source);
  }

  Program run();
  Salvage salvage();
  JudgedNames judge_names();

 private:
  Program run_to_end();
  void run_to_stop();
  [[noreturn]] void fail(std::string found, std::string expected = {}, ErrorCode code = ErrorCode::corrupt) const;
  bool step(const Op& op);
  void step_literal(const Op& op);
  void step_container(const Op& op);
  void step_call(const Op& op);
  void step_effect(const Op& op);
  void step_memo(const Op& op);

  /// Takes the values above the topmost mark, or the `count` topmost ones, off the stack, lowest first; valid until the
  /// next call of either.
  std::span<const ValueId> pop_to_mark();
  std::span<const ValueId> pop(std::size_t count);
  std::span<const ValueId> take_from(std::size_t floor);
  /// The topmost slot. Throws where there is none above the topmost mark.
  Slot& top();
  /// Pushes a new value made by `op`.
  void made(const Op& op, ValueId id);
  /// The same for a value of which Python has only one, whoever makes it: `once` keeps its id.
  template <class Make>
  void made_once(const Op& op, ValueId& once, Make make) {
    if (once != no_value) return stack_.push_back({once, false});
    made(op, make());
    once = stack_.back().id;
  }
  ValueId make_again(ValueId id);
  void discard(ValueId id) { program_.discarded.push_back(id); }

  std::int64_t line_integer(const Op& op) const;
  void push_integer(const Op& op, std::string_view twos_complement);
  void push_int_line(const Op& op);
  void push_text(const Op& op, ValueKind kind, std::string_view text);
  [[nodiscard]] ByteSourcePtr far_text(const Op& op, ValueKind kind) const;
  void judge(std::string_view module, std::string_view name, Verdict verdict);
  void judge(ValueId global, Verdict verdict);
  ValueId global(std::string_view module, std::string_view name);
  void push_stack_global(const Op& op);
  [[nodiscard]] bool ends_in_empty(ValueId target, EffectKind kind) const;
  void effect(const Op& op, EffectKind kind, std::span<const ValueId> operands);
  void put(std::uint64_t index);
  void get(std::uint64_t index);
  void keep_unreached();
  void check_work() const;
  void judge_uses();

  /// How a broken pickle is brought to an end (salvage.cpp).
  void close();
  void close_stretch();
  void fill(const Slot& container, std::vector<Slot> operands);
  [[nodiscard]] bool is_filling(ValueId container);
  [[nodiscard]] bool is_key(ValueId id) const;
  void settle_entries(std::vector<Slot>& operands);
  void settle_bottom();
  void add(const Slot& target, EffectKind kind, std::uint8_t code, std::span<const ValueId> operands);

  const ByteSource& source_;
  ByteSourcePtr shared_source_;  ///< the same, where texts stay in it
  std::uint64_t begin_;          ///< of the pickle
  Scanner scanner_;
  ValueGraph& graph_;
  std::size_t first_value_;
  MachineCaps caps_;
  Program program_;
  GlobalUses uses_{program_.globals};
  std::vector<Slot> stack_;
  std::vector<std::size_t> marks_;
  Memo memo_;
  std::vector<ValueId> operands_;  ///< what was last taken off the stack
  ValueId none_ = no_value, empty_tuple_ = no_value;
  std::array<ValueId, 2> booleans_{no_value, no_value};
  std::vector<ValueId> small_integers_ = std::vector<ValueId>(256, no_value);  ///< those of BININT1
  Time now_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t fetched_names_ = 0;  // bytes that STACK_GLOBAL was given
  bool declared_ = false;
  std::unordered_map<ValueId, std::uint32_t> filled_;  ///< items that a container of a broken pickle has been given
};

}  // namespace ckpt::pickle
