#pragma once

#include <limits>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pickle/emitter.h"
#include "pickle/opcodes.h"
#include "pickle/spelling.h"

/// The machine behind emit(): what is written when in emitter.cpp, how a value is spelt in emitter_values.cpp.
namespace ckpt::pickle {

inline constexpr Time forever = std::numeric_limits<Time>::max();  // comes after every effect

/// What is left to do, last first. The graph is walked with this list instead of recursion.
struct Task {
  enum class Kind : std::uint8_t {
    push,         ///< make `id` (or fetch it) on top of the unpickler's stack
    finish,       ///< `id`'s operands are on the stack: make it
    own_effects,  ///< `id` is on top: apply its effects from `handle` on
    apply,        ///< the effect's target and operands are on the stack: apply `handle`
    flush,        ///< do what waits and came before `limit`
    drop,         ///< pop the top
    write,        ///< an opcode
  };
  Kind kind{};
  std::uint8_t opcode = 0;
  ValueId id = no_value;
  std::uint32_t handle = 0;
  /// Effects that came after it wait: an enclosing call was made before them.
  Time limit = forever;
};

/// An effect (or a discarded value, where handle is 0) that waits for its time.
struct Waiting {
  Time time;
  ValueId id;
  std::uint32_t handle;
  bool operator>(const Waiting& other) const { return std::pair(time, handle) > std::pair(other.time, other.handle); }
};

class Emitter {
 public:
  /// `made_again`: values that are made while they are being made, for they hold themselves. Their operands get a place
  /// in the memo, so that calls among them are made once.
  Emitter(const ValueGraph& graph, ValueId root, const EmitOptions& options, const std::vector<ValueId>& made_again);
  std::string emit();
  /// Which those were in emit().
  [[nodiscard]] const std::vector<ValueId>& made_again() const { return made_again_; }

 private:
  using Kind = Task::Kind;

  // emitter.cpp
  void step(const Task& task);
  void push(ValueId id, Time limit);
  void push_composite(ValueId id, Time limit);
  void count_rework(ValueId id);
  void own_effects(ValueId id, std::uint32_t handle, Time limit);
  void schedule_effect(std::uint32_t handle, Time limit);
  void flush(Time limit);
  void store(ValueId id, Time limit);
  [[nodiscard]] bool has_waiting_effect(ValueId id, Time limit) const;
  /// Whether code of the file's own runs when it is made or changed, and so sees what its operands hold.
  [[nodiscard]] bool is_observer(ValueId id) const;
  [[nodiscard]] bool is_finished_first(ValueId id) const;
  /// One id for all that Python has only one of: written anew in each place.
  [[nodiscard]] bool is_single(ValueId id) const { return makes_single(graph_.form(id)) && !graph_.memoized(id); }

  // emitter_values.cpp
  [[nodiscard]] bool is_composite(ValueId id) const;
  void schedule_operands(ValueId id, Time limit);
  void schedule_lowered_newobj(ValueId id, Time limit);
  void schedule_lowered_set(ValueId id, Time limit);
  void check_lowered_set(ValueId id, Time limit) const;
  void finish(ValueId id, Time limit);
  void give_way(ValueId id);
  void write_making(ValueId id);
  void write_call(ValueId id);
  void write_effect(std::uint32_t handle);
  [[nodiscard]] bool uses_mark(ValueId id) const;
  [[nodiscard]] bool is_text_persid(ValueId id) const;
  [[nodiscard]] bool is_batch(const Effect& effect) const;
  [[nodiscard]] bool is_lowered_newobj(ValueId id) const;
  [[nodiscard]] bool is_lowered_set(ValueId id) const;
  [[nodiscard]] bool is_cyclic_set(ValueId id) const;

  // Tasks run last first: what is to run after others is scheduled before them.
  void schedule(Kind kind, ValueId id, Time limit, std::uint32_t handle = 0) {
    tasks_.push_back({kind, 0, id, handle, limit});
  }
  void schedule_write(std::uint8_t opcode) { tasks_.push_back({Kind::write, opcode, no_value, 0, forever}); }
  /// Pushes of `items`, in order.
  void schedule_pushes(std::span<const ValueId> items, Time limit) {
    for (auto item = items.rbegin(); item != items.rend(); ++item) schedule(Kind::push, *item, limit);
  }
  [[nodiscard]] bool is_stored(ValueId id) const { return memo_[id] != not_stored; }
  void write(std::uint8_t opcode) { out_.push_back(static_cast<char>(opcode)); }
  void write_fetch(ValueId id) { write_get(out_, memo_[id], spelling_.protocol); }

  static constexpr std::uint32_t not_stored = 0xFFFFFFFF;

  const ValueGraph& graph_;
  std::vector<ValueId>* asked_for_ = nullptr;
  ValueId root_;
  Spelling spelling_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint32_t> memo_;
  std::vector<bool> begun_;   ///< values that are made or being made
  std::vector<bool> cyclic_;  ///< values that hold themselves; only where sets are lowered
  std::uint32_t stored_ = 0;
  std::vector<Task> tasks_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::vector<ValueId> observers_;  ///< in the order in which the source made them
  std::size_t next_observer_ = 0;
  std::vector<Time> held_;  ///< of each set being made that its members hold: when; later changes wait
  std::size_t rework_ = 0;
  std::vector<ValueId> made_again_;
  std::string out_;
};

}  // namespace ckpt::pickle
