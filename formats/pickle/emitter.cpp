#include "pickle/emitter.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "ckpt/error.h"
#include "pickle/opcodes.h"
#include "pickle/reach.h"
#include "pickle/spelling.h"

namespace ckpt::pickle {
namespace {

constexpr Time forever = std::numeric_limits<Time>::max();  // comes after every effect
constexpr std::uint32_t not_stored = 0xFFFFFFFF;

/// What is left to do, last first. The graph is walked with this list instead of recursion.
struct Task {
  enum class Kind : std::uint8_t {
    push,         ///< make `id` (or fetch it) on top of the unpickler's stack
    finish,       ///< `id`'s operands are on the stack: make it
    own_effects,  ///< `id` is on top: apply its effects from `handle` on
    apply,        ///< the effect's target and operands are on the stack: apply `handle`
    flush,        ///< apply what waits and came before `limit`
    drop,         ///< pop the top
    write,        ///< an opcode
  };
  Kind kind{};
  std::uint8_t opcode = 0;
  ValueId id = no_value;
  std::uint32_t handle = 0;
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
  Emitter(const ValueGraph& graph, ValueId root, const EmitOptions& options);
  std::string emit();

 private:
  using Kind = Task::Kind;

  void step(const Task& task);
  void push(ValueId id);
  void push_composite(ValueId id);
  void push_lowered_newobj(ValueId id);
  void push_lowered_set(ValueId id);
  void finish(ValueId id);
  void finish_call(ValueId id);
  void own_effects(ValueId id, std::uint32_t handle);
  void schedule_effect(std::uint32_t handle);
  void apply(std::uint32_t handle);
  void flush(Time limit);

  // Tasks run last first: what is to run after others is scheduled before them.
  void schedule(Kind kind, ValueId id, std::uint32_t handle = 0) { tasks_.push_back({kind, 0, id, handle, forever}); }
  void schedule_flush(Time limit) { tasks_.push_back({Kind::flush, 0, no_value, 0, limit}); }
  void schedule_write(std::uint8_t opcode) { tasks_.push_back({Kind::write, opcode, no_value, 0, forever}); }
  /// Pushes of `items`, in order.
  void schedule_pushes(std::span<const ValueId> items) {
    for (auto item = items.rbegin(); item != items.rend(); ++item) schedule(Kind::push, *item);
  }

  void store(ValueId id);
  [[nodiscard]] bool is_stored(ValueId id) const { return memo_[id] != not_stored; }
  void write(std::uint8_t opcode) { out_.push_back(static_cast<char>(opcode)); }
  [[nodiscard]] bool lacks_sets() const { return spelling_.protocol < 4; }
  [[nodiscard]] bool uses_mark(ValueId id) const;
  [[nodiscard]] bool is_text_persid(ValueId id) const;
  [[nodiscard]] bool is_batch(const Effect& effect) const;
  [[nodiscard]] bool is_lowered_newobj(ValueId id) const;

  const ValueGraph& graph_;
  ValueId root_;
  Spelling spelling_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::uint32_t> memo_;
  std::uint32_t stored_ = 0;
  std::vector<Task> tasks_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::string out_;
};

Emitter::Emitter(const ValueGraph& graph, ValueId root, const EmitOptions& options)
    : graph_(graph), root_(root), memo_(graph.size(), not_stored) {
  spelling_ = {options.protocol.value_or(options.source_protocol), options.source_protocol, !options.protocol};
  std::vector<ValueId> roots{root};
  roots.insert(roots.end(), options.discarded.begin(), options.discarded.end());
  uses_ = count_uses(graph, roots);
  for (const ValueId id : options.discarded) waiting_.push({graph.made(id), id, 0});
}

/// Gives a value that has just been made its place in the memo, if it needs one: the source gave it one, it is used
/// again, or it changes later (which may be how it holds itself).
void Emitter::store(ValueId id) {
  const bool kept = spelling_.keep_forms && graph_.memoized(id);
  if (is_stored(id) || !(kept || uses_[id] > 1 || graph_.first_effect(id) != 0)) return;
  write_put(out_, stored_, spelling_.protocol);
  memo_[id] = stored_++;
}

bool Emitter::uses_mark(ValueId id) const {
  const std::size_t count = graph_.items(id).size();
  switch (graph_.kind(id)) {
    case ValueKind::tuple: {
      const std::uint8_t form = spelling_.form(graph_.form(id));
      return form == TUPLE || count > 3 || (form == 0 && spelling_.protocol < (count > 0 ? 2 : 1));
    }
    case ValueKind::list:
    case ValueKind::dict: {
      const std::uint8_t form = spelling_.form(graph_.form(id));
      return form == LIST || form == DICT || count > 0 || spelling_.protocol == 0;
    }
    case ValueKind::frozenset:
      return true;
    case ValueKind::object:
      return graph_.call(id) == CallKind::inst || graph_.call(id) == CallKind::obj;
    default:
      return false;
  }
}

void Emitter::push(ValueId id) {
  if (is_stored(id)) return write_get(out_, memo_[id], spelling_.protocol);
  switch (graph_.kind(id)) {
    case ValueKind::list:
    case ValueKind::tuple:
    case ValueKind::dict:
    case ValueKind::set:
    case ValueKind::frozenset:
    case ValueKind::persistent:
    case ValueKind::object:
      return push_composite(id);
    case ValueKind::global:
      if (spelling_.form(graph_.form(id)) == STACK_GLOBAL && !graph_.items(id).empty()) return push_composite(id);
      break;
    default:
      break;
  }
  write_atom(out_, graph_, id, spelling_);
  store(id);
  own_effects(id, graph_.first_effect(id));
}

bool Emitter::is_text_persid(ValueId id) const {
  return spelling_.form(graph_.form(id)) == PERSID && graph_.kind(graph_.items(id)[0]) == ValueKind::str;
}

bool Emitter::is_lowered_newobj(ValueId id) const {
  if (graph_.kind(id) != ValueKind::object) return false;
  return (graph_.call(id) == CallKind::newobj && spelling_.protocol < 2) ||
         (graph_.call(id) == CallKind::newobj_ex && spelling_.protocol < 4);
}

void Emitter::push_composite(ValueId id) {
  const ValueKind kind = graph_.kind(id);
  schedule(Kind::own_effects, id, graph_.first_effect(id));
  schedule(Kind::finish, id);
  if (kind == ValueKind::object) schedule_flush(graph_.made(id));
  if (lacks_sets() && (kind == ValueKind::set || kind == ValueKind::frozenset)) return push_lowered_set(id);
  if (is_lowered_newobj(id)) return push_lowered_newobj(id);
  auto items = graph_.items(id);
  if (kind == ValueKind::object && graph_.call(id) == CallKind::inst) items = items.subspan(1);  // named by the opcode
  if (kind == ValueKind::persistent && is_text_persid(id)) items = {};
  schedule_pushes(items);
  if (uses_mark(id)) schedule_write(MARK);
}

/// copyreg's own functions do what the opcodes do: __newobj__(cls, *args), __newobj_ex__(cls, args, kwargs).
void Emitter::push_lowered_newobj(ValueId id) {
  const bool extended = graph_.call(id) == CallKind::newobj_ex;
  const auto items = graph_.items(id);
  std::vector<ValueId> arguments(items.begin(), items.end());
  if (!extended) {
    if (graph_.kind(items[1]) != ValueKind::tuple)
      throw Error(ErrorCode::unsupported, "an object whose arguments are computed cannot be said in protocol " +
                                              std::to_string(spelling_.protocol))
          .hint("write with --protocol 2");
    const auto spread = graph_.items(items[1]);
    arguments.assign(spread.begin(), spread.end());
    arguments.insert(arguments.begin(), items[0]);
  }
  write_global(out_, "copyreg", extended ? "__newobj_ex__" : "__newobj__", spelling_.protocol);
  schedule_write(TUPLE);
  schedule_pushes(arguments);
  schedule_write(MARK);
}

/// Before protocol 4 a set is a call of set or frozenset with a list of all its members.
void Emitter::push_lowered_set(ValueId id) {
  std::vector<ValueId> members(graph_.items(id).begin(), graph_.items(id).end());
  for (auto handle = graph_.first_effect(id); handle != 0; handle = graph_.effect(handle).next) {
    const auto more = graph_.items(graph_.effect(handle));
    members.insert(members.end(), more.begin(), more.end());
  }
  write_global(out_, "builtins", graph_.kind(id) == ValueKind::set ? "set" : "frozenset", spelling_.protocol);
  const bool has_tuple1 = spelling_.protocol >= 2;
  schedule_write(has_tuple1 ? TUPLE1 : TUPLE);
  schedule_write(LIST);
  schedule_pushes(members);
  schedule_write(MARK);
  if (!has_tuple1) schedule_write(MARK);
}

/// The operands are on the stack.
void Emitter::finish(ValueId id) {
  const std::size_t count = graph_.items(id).size();
  switch (graph_.kind(id)) {
    case ValueKind::tuple:
      if (uses_mark(id))
        write(TUPLE);
      else
        write(count == 0 ? static_cast<std::uint8_t>(EMPTY_TUPLE) : static_cast<std::uint8_t>(TUPLE1 + count - 1));
      break;
    case ValueKind::list:
      write(uses_mark(id) ? LIST : EMPTY_LIST);
      break;
    case ValueKind::dict:
      write(uses_mark(id) ? DICT : EMPTY_DICT);
      break;
    case ValueKind::set:
      write(lacks_sets() ? REDUCE : EMPTY_SET);
      break;
    case ValueKind::frozenset:
      write(lacks_sets() ? REDUCE : FROZENSET);
      break;
    case ValueKind::global:
      write(STACK_GLOBAL);
      break;
    case ValueKind::persistent:
      if (is_text_persid(id))
        out_ += 'P' + std::string(graph_.text(graph_.items(id)[0])) + '\n';
      else
        write(BINPERSID);
      break;
    default:
      finish_call(id);
  }
  store(id);
}

void Emitter::finish_call(ValueId id) {
  if (is_lowered_newobj(id)) return write(REDUCE);
  switch (graph_.call(id)) {
    case CallKind::reduce:
      return write(REDUCE);
    case CallKind::newobj:
      return write(NEWOBJ);
    case CallKind::newobj_ex:
      return write(NEWOBJ_EX);
    case CallKind::obj:
      return write(OBJ);
    case CallKind::inst:
      break;
  }
  const ValueId type = graph_.items(id)[0];
  write(INST);
  out_ += std::string(graph_.module(type)) + '\n' + std::string(graph_.name(type)) + '\n';
}

/// The value is on top of the stack: its effects from `handle` on. Late ones wait for their time.
void Emitter::own_effects(ValueId id, std::uint32_t handle) {
  if (lacks_sets() && graph_.kind(id) == ValueKind::set) return;  // its members are in already
  for (; handle != 0 && graph_.effect(handle).late; handle = graph_.effect(handle).next)
    waiting_.push({graph_.effect(handle).time, id, handle});
  if (handle == 0) return;
  schedule(Kind::own_effects, id, graph_.effect(handle).next);
  schedule_effect(handle);
}

/// The target is on top of the stack: the effect's operands, and the effect.
void Emitter::schedule_effect(std::uint32_t handle) {
  const Effect& effect = graph_.effect(handle);
  schedule(Kind::apply, no_value, handle);
  schedule_flush(effect.time);
  schedule_pushes(graph_.items(effect));
  if (is_batch(effect)) schedule_write(MARK);
}

bool Emitter::is_batch(const Effect& effect) const {
  const std::uint8_t form = spelling_.form(effect.form);
  switch (effect.kind) {
    case EffectKind::append:
      return effect.count != 1 || form == APPENDS;
    case EffectKind::set_items:
      return effect.count != 2 || form == SETITEMS;
    case EffectKind::add_items:
      return true;
    case EffectKind::build:
      return false;
  }
  return false;
}

void Emitter::apply(std::uint32_t handle) {
  const Effect& effect = graph_.effect(handle);
  switch (effect.kind) {
    case EffectKind::append:
      return write(is_batch(effect) ? APPENDS : APPEND);
    case EffectKind::set_items:
      return write(is_batch(effect) ? SETITEMS : SETITEM);
    case EffectKind::add_items:
      return write(ADDITEMS);
    case EffectKind::build:
      return write(BUILD);
  }
}

/// Schedules the first of what waits and came before `limit`, and another look after it.
void Emitter::flush(Time limit) {
  if (waiting_.empty() || waiting_.top().time >= limit) return;
  const Waiting next = waiting_.top();
  waiting_.pop();
  schedule_flush(limit);
  if (next.handle == 0 && is_stored(next.id)) return;  // a dropped value that something else has made since
  schedule(Kind::drop, no_value);
  if (next.handle != 0) schedule_effect(next.handle);
  schedule(Kind::push, next.id);
}

void Emitter::step(const Task& task) {
  switch (task.kind) {
    case Kind::push:
      return push(task.id);
    case Kind::finish:
      return finish(task.id);
    case Kind::own_effects:
      return own_effects(task.id, task.handle);
    case Kind::apply:
      return apply(task.handle);
    case Kind::flush:
      return flush(task.limit);
    case Kind::drop:
      return write(POP);
    case Kind::write:
      return write(task.opcode);
  }
}

std::string Emitter::emit() {
  if (spelling_.protocol >= 2) {
    write(PROTO);
    write(static_cast<std::uint8_t>(spelling_.protocol));
  }
  schedule_flush(forever);
  schedule(Kind::push, root_);
  while (!tasks_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    step(task);
  }
  write(STOP);
  return std::move(out_);
}

}  // namespace

std::string emit(const ValueGraph& graph, ValueId root, const EmitOptions& options) {
  return Emitter(graph, root, options).emit();
}

}  // namespace ckpt::pickle
