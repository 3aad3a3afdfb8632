#include <algorithm>

#include "ckpt/error.h"
#include "pickle/emitter_state.h"
#include "pickle/opcodes.h"

namespace ckpt::pickle {

bool Emitter::is_composite(ValueId id) const {
  switch (graph_.kind(id)) {
    case ValueKind::list:
    case ValueKind::tuple:
    case ValueKind::dict:
    case ValueKind::set:
    case ValueKind::frozenset:
    case ValueKind::persistent:
    case ValueKind::object:
      return true;
    case ValueKind::global:
      return spelling_.form(graph_.form(id)) == STACK_GLOBAL && !graph_.items(id).empty();
    default:
      return false;
  }
}

bool Emitter::uses_mark(ValueId id) const {
  const std::size_t count = graph_.items(id).size();
  const std::uint8_t form = spelling_.form(graph_.form(id));
  switch (graph_.kind(id)) {
    case ValueKind::tuple:
      return form == TUPLE || count > 3 || (form == 0 && spelling_.protocol < (count > 0 ? 2 : 1));
    case ValueKind::list:
    case ValueKind::dict:
      return form == LIST || form == DICT || count > 0 || spelling_.protocol == 0;
    case ValueKind::frozenset:
      return true;
    case ValueKind::object:
      return graph_.call(id) == CallKind::inst || graph_.call(id) == CallKind::obj;
    default:
      return false;
  }
}

bool Emitter::is_text_persid(ValueId id) const {
  return spelling_.form(graph_.form(id)) == PERSID && graph_.kind(graph_.items(id)[0]) == ValueKind::str;
}

bool Emitter::is_lowered_newobj(ValueId id) const {
  if (graph_.kind(id) != ValueKind::object || spelling_.form(graph_.form(id)) != 0) return false;
  return (graph_.call(id) == CallKind::newobj && spelling_.protocol < 2) ||
         (graph_.call(id) == CallKind::newobj_ex && spelling_.protocol < 4);
}

bool Emitter::is_lowered_set(ValueId id) const {
  const ValueKind kind = graph_.kind(id);
  return (kind == ValueKind::set || kind == ValueKind::frozenset) && spelling_.protocol < 4 &&
         spelling_.form(graph_.form(id)) == 0;
}

bool Emitter::is_cyclic_set(ValueId id) const { return is_lowered_set(id) && !cyclic_.empty() && cyclic_[id]; }

void Emitter::schedule_operands(ValueId id, Time limit) {
  const ValueKind kind = graph_.kind(id);
  if (is_lowered_set(id)) return schedule_lowered_set(id, limit);
  if (is_lowered_newobj(id)) return schedule_lowered_newobj(id, limit);
  auto items = graph_.items(id);
  if (kind == ValueKind::object && graph_.call(id) == CallKind::inst) items = items.subspan(1);  // named by the opcode
  if (kind == ValueKind::persistent && is_text_persid(id)) items = {};
  schedule_pushes(items, limit);
  if (uses_mark(id)) schedule_write(MARK);
}

/// copyreg's own functions do what the opcodes do: __newobj__(cls, *args), __newobj_ex__(cls, args, kwargs).
void Emitter::schedule_lowered_newobj(ValueId id, Time limit) {
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
  schedule_pushes(arguments, limit);
  schedule_write(MARK);
}

/// Made all at once, the set would show a call what it did not hold then.
void Emitter::check_lowered_set(ValueId id, Time limit) const {
  for (auto handle = graph_.first_effect(id); handle != 0; handle = graph_.effect(handle).next)
    if (graph_.effect(handle).late || graph_.effect(handle).time > limit)
      throw Error(ErrorCode::unsupported, "a set that changes after it was used cannot be said in protocol " +
                                              std::to_string(spelling_.protocol))
          .hint("write with --protocol 4");
}

/// Before protocol 4 a set is a call of set or frozenset with a list of all its members.
void Emitter::schedule_lowered_set(ValueId id, Time limit) {
  std::vector<ValueId> members(graph_.items(id).begin(), graph_.items(id).end());
  const bool holds = is_cyclic_set(id);  // what changes its members holds the set: it comes after
  Time last = graph_.made(id);
  if (holds) held_.push_back(held_.empty() ? last : std::min(last, held_.back()));
  for (auto handle = graph_.first_effect(id); handle != 0; handle = graph_.effect(handle).next) {
    if (!holds) last = graph_.effect(handle).time;
    const auto more = graph_.items(graph_.effect(handle));
    members.insert(members.end(), more.begin(), more.end());
  }
  write_global(out_, "builtins", graph_.kind(id) == ValueKind::set ? "set" : "frozenset", spelling_.protocol);
  const bool has_tuple1 = spelling_.protocol >= 2;
  schedule(Kind::flush, no_value, last);
  schedule_write(has_tuple1 ? TUPLE1 : TUPLE);
  if (spelling_.protocol == 0) {
    schedule_write(LIST);
    schedule_pushes(members, limit);
    schedule_write(MARK);
  } else {
    // The list as Python spells it: torch's weights_only knows no LIST.
    if (!members.empty()) {
      schedule_write(APPENDS);
      schedule_pushes(members, limit);
      schedule_write(MARK);
    }
    schedule_write(EMPTY_LIST);
  }
  if (!has_tuple1) schedule_write(MARK);
}

/// The operands are on the stack.
void Emitter::finish(ValueId id, Time limit) {
  if (is_cyclic_set(id)) held_.pop_back();
  if (is_stored(id)) return give_way(id);
  write_making(id);
  store(id, limit);
}

/// An operand that holds the value itself has made it meanwhile: off with the operands, and on with the value, whose
/// effects are done, or wait.
void Emitter::give_way(ValueId id) {
  tasks_.pop_back();  // its own effects
  const bool lowered = is_lowered_set(id) || is_lowered_newobj(id);
  std::size_t count = lowered ? 2 : graph_.items(id).size();  // lowered: the callable and its tuple
  if (!lowered && uses_mark(id)) {
    if (spelling_.protocol > 0) write(POP_MARK);
    count = spelling_.protocol > 0 ? 0 : count + 1;  // POP takes a mark as well
  }
  out_.append(count, static_cast<char>(POP));
  write_fetch(id);
}

void Emitter::write_making(ValueId id) {
  const std::size_t count = graph_.items(id).size();
  if (is_lowered_set(id)) return write(REDUCE);
  switch (graph_.kind(id)) {
    case ValueKind::tuple:
      if (uses_mark(id)) return write(TUPLE);
      return write(count == 0 ? static_cast<std::uint8_t>(EMPTY_TUPLE) : static_cast<std::uint8_t>(TUPLE1 + count - 1));
    case ValueKind::list:
      return write(uses_mark(id) ? LIST : EMPTY_LIST);
    case ValueKind::dict:
      return write(uses_mark(id) ? DICT : EMPTY_DICT);
    case ValueKind::set:
      return write(EMPTY_SET);
    case ValueKind::frozenset:
      return write(FROZENSET);
    case ValueKind::global:
      return write(STACK_GLOBAL);
    case ValueKind::persistent:
      if (asked_for_ != nullptr) asked_for_->push_back(id);
      if (!is_text_persid(id)) return write(BINPERSID);
      out_ += 'P' + std::string(graph_.text(graph_.items(id)[0])) + '\n';
      return;
    default:
      return write_call(id);
  }
}

void Emitter::write_call(ValueId id) {
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
  const auto [module, name] = spelt_name(graph_, graph_.items(id)[0], spelling_);
  write(INST);
  out_ += module + '\n' + name + '\n';
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

void Emitter::write_effect(std::uint32_t handle) {
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

}  // namespace ckpt::pickle
