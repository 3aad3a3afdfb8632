#include "pickle/emitter.h"

#include <algorithm>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "pickle/emitter_state.h"
#include "pickle/opcodes.h"
#include "pickle/reach.h"

namespace ckpt::pickle {

Emitter::Emitter(const ValueGraph& graph, ValueId root, const EmitOptions& options,
                 const std::vector<ValueId>& made_again)
    : graph_(graph), root_(root), memo_(graph.size(), not_stored), begun_(graph.size()) {
  asked_for_ = options.asked_for;
  if (asked_for_ != nullptr) asked_for_->clear();
  spelling_ = {options.protocol.value_or(options.source_protocol), options.source_protocol, !options.protocol};
  std::vector<ValueId> roots{root};
  roots.insert(roots.end(), options.discarded.begin(), options.discarded.end());
  uses_ = count_uses(graph, roots);
  if (!spelling_.keep_forms && spelling_.protocol < 4) cyclic_ = find_cyclic(graph, roots);
  const auto makes = [&](ValueId id) { return graph.first_effect(id) != 0 || !graph.items(id).empty(); };
  for (const ValueId id : made_again)
    for (const ValueId item : graph.items(id)) uses_[item] += makes(item) ? 1 : 0;
  // A tuple of arguments that is shared is spread out more than once where NEWOBJ is lowered.
  for (ValueId id = 0; id < graph.size(); ++id)
    if (uses_[id] != 0 && is_lowered_newobj(id) && uses_[graph.items(id)[1]] > 1)
      for (const ValueId item : graph.items(graph.items(id)[1])) ++uses_[item];
  std::vector<bool> is_discarded(graph.size());
  for (const ValueId id : options.discarded) {
    waiting_.push({graph.made(id), id, 0});
    is_discarded[id] = true;
  }
  for (ValueId id = 0; id < graph.size(); ++id) {
    const bool changed = graph.kind(id) == ValueKind::global && graph.first_effect(id) != 0;
    const bool counts = is_observer(id) && (graph.kind(id) != ValueKind::global || changed);
    if (uses_[id] != 0 && graph.made(id) != 0 && counts && !is_discarded[id]) observers_.push_back(id);
  }
  std::stable_sort(observers_.begin(), observers_.end(),
                   [&](ValueId a, ValueId b) { return graph.made(a) < graph.made(b); });
}

bool Emitter::is_observer(ValueId id) const {
  const ValueKind kind = graph_.kind(id);
  return kind == ValueKind::object || kind == ValueKind::persistent || kind == ValueKind::global;
}

bool Emitter::has_waiting_effect(ValueId id, Time limit) const {
  for (auto handle = graph_.first_effect(id); handle != 0; handle = graph_.effect(handle).next)
    if (graph_.effect(handle).late || graph_.effect(handle).time > limit) return true;
  return false;
}

/// Gives a value that has just been made its place in the memo, if it needs one: the source gave it one, it is used
/// again, it changes when it is no longer on top, or what it is given may hold it. (Where the source keeps its form
/// that takes a place in the source's memo.)
void Emitter::store(ValueId id, Time limit) {
  const bool kept = spelling_.keep_forms && graph_.memoized(id);
  const bool changes = graph_.first_effect(id) != 0 && !is_lowered_set(id);
  const bool may_hold_itself = changes && (!spelling_.keep_forms || graph_.made(id) == 0);
  const bool used_again = uses_[id] > 1 && !is_single(id);
  if (is_stored(id) || !(kept || used_again || may_hold_itself || has_waiting_effect(id, limit))) return;
  write_put(out_, stored_, spelling_.protocol);
  memo_[id] = stored_++;
}

void Emitter::push(ValueId id, Time limit) {
  if (is_stored(id)) return write_fetch(id);
  // Younger than the call that holds it: an edit has put it there, as it was in the end.
  if (graph_.made(id) > limit) limit = forever;
  if (is_composite(id)) return push_composite(id, limit);
  begun_[id] = true;  // a class may be changed, and is then looked for among the calls
  write_atom(out_, graph_, id, spelling_);
  store(id, limit);
  own_effects(id, graph_.first_effect(id), limit);
}

void Emitter::push_composite(ValueId id, Time limit) {
  if (begun_[id] && !is_single(id)) {
    count_rework(id);
    made_again_.push_back(id);
  }
  begun_[id] = true;
  // What would lead back to a set that is being made waits until that is done.
  const Time own_limit = !held_.empty() && cyclic_[id] ? std::min(limit, held_.back()) : limit;
  schedule(Kind::own_effects, id, own_limit, graph_.first_effect(id));
  schedule(Kind::finish, id, own_limit);
  const bool hashes = graph_.kind(id) == ValueKind::frozenset || graph_.kind(id) == ValueKind::dict;
  if (is_observer(id) || (hashes && !graph_.items(id).empty())) schedule(Kind::flush, no_value, graph_.made(id));
  if (is_lowered_set(id)) check_lowered_set(id, limit);
  schedule_operands(id, graph_.made(id) != 0 && is_finished_first(id) ? graph_.made(id) : limit);
}

/// Whether its operands are made as they were when it was made, and changed only after that: where it sees them, or
/// where a change may make an operand hold it.
bool Emitter::is_finished_first(ValueId id) const {
  if (is_observer(id)) return true;
  const ValueKind kind = graph_.kind(id);
  return !spelling_.keep_forms && (kind == ValueKind::tuple || kind == ValueKind::frozenset);
}

/// A tuple that holds itself is made while it is being made, as CPython does it, once for each way that leads back to
/// it; the source's memo has all that it takes. That multiplies, and a set that its own member needs would have no end.
void Emitter::count_rework(ValueId id) {
  rework_ += 1 + graph_.items(id).size();
  if (rework_ <= 10'000 + graph_.size()) return;
  throw Error(ErrorCode::unsupported, "the pickle holds a value that holds itself in a way that protocol " +
                                          std::to_string(spelling_.protocol) + " cannot say")
      .hint("write with --protocol 4");
}

/// The value is on top of the stack: its effects from `handle` on. Late ones wait for their time.
void Emitter::own_effects(ValueId id, std::uint32_t handle, Time limit) {
  if (is_lowered_set(id)) return;  // its members are in already
  for (; handle != 0; handle = graph_.effect(handle).next) {
    const Effect& effect = graph_.effect(handle);
    if (!effect.late && effect.time <= limit) break;
    waiting_.push({effect.time, id, handle});
  }
  if (handle == 0) return;
  schedule(Kind::own_effects, id, limit, graph_.effect(handle).next);
  schedule_effect(handle, limit);
}

/// The target is on top of the stack: the effect's operands, as they were when it came, and the effect.
void Emitter::schedule_effect(std::uint32_t handle, Time limit) {
  const Effect& effect = graph_.effect(handle);
  schedule(Kind::apply, no_value, forever, handle);
  schedule(Kind::flush, no_value, effect.time);
  schedule_pushes(graph_.items(effect), effect.time != 0 ? effect.time : limit);
  if (is_batch(effect)) schedule_write(MARK);
}

/// Schedules the first of what waits and came before `limit`, and another look after it.
void Emitter::flush(Time limit) {
  if (!held_.empty()) limit = std::min(limit, held_.back());
  while (next_observer_ < observers_.size() && begun_[observers_[next_observer_]]) ++next_observer_;
  const Time observer_time = next_observer_ < observers_.size() ? graph_.made(observers_[next_observer_]) : forever;
  const Time waiting_time = waiting_.empty() ? forever : waiting_.top().time;
  if (std::min(observer_time, waiting_time) >= limit) return;
  schedule(Kind::flush, no_value, limit);
  // A dropped value comes with the observers in it, each in its time.
  const bool drops = waiting_time < limit && waiting_.top().handle == 0;
  if (observer_time < waiting_time && !drops) {  // made here, fetched where it is held
    const ValueId id = observers_[next_observer_++];
    ++uses_[id];
    schedule(Kind::drop, no_value, forever);
    return push(id, limit);
  }
  const Waiting next = waiting_.top();
  waiting_.pop();
  if (next.handle == 0 && is_stored(next.id)) return;  // a dropped value that something else has made since
  schedule(Kind::drop, no_value, forever);
  if (next.handle != 0) schedule_effect(next.handle, limit);
  schedule(Kind::push, next.id, limit);
}

void Emitter::step(const Task& task) {
  switch (task.kind) {
    case Kind::push:
      return push(task.id, task.limit);
    case Kind::finish:
      return finish(task.id, task.limit);
    case Kind::own_effects:
      return own_effects(task.id, task.handle, task.limit);
    case Kind::apply:
      return write_effect(task.handle);
    case Kind::flush:
      return flush(task.limit);
    case Kind::drop:
      return write(POP);
    case Kind::write:
      return write(task.opcode);
  }
}

std::string Emitter::emit() {
  constexpr std::size_t usual_bytes = 16;  // of one value, so that little of it is moved as it grows
  out_.reserve(usual_bytes * graph_.size());
  if (spelling_.protocol >= 2) {
    write(PROTO);
    write(static_cast<std::uint8_t>(spelling_.protocol));
  }
  schedule(Kind::flush, no_value, forever);
  schedule(Kind::push, root_, forever);
  while (!tasks_.empty()) {
    const Task task = tasks_.back();
    tasks_.pop_back();
    step(task);
    if (out_.size() > limits::pickle_bytes)
      throw Error(ErrorCode::limit_exceeded,
                  "the pickle would grow past " + std::to_string(limits::pickle_bytes) + " bytes");
  }
  write(STOP);
  return std::move(out_);
}

std::string emit(const ValueGraph& graph, ValueId root, const EmitOptions& options) {
  Emitter first(graph, root, options, {});
  try {
    std::string code = first.emit();
    if (first.made_again().empty()) return code;
  } catch (const Error&) {
    if (first.made_again().empty()) throw;
  }
  return Emitter(graph, root, options, first.made_again()).emit();
}

}  // namespace ckpt::pickle
