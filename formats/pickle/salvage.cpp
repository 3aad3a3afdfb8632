#include <algorithm>

#include "ckpt/state_dict.h"
#include "pickle/machine_state.h"

/// A pickle that breaks off has values on its stack that were to be put into others. Here they are, in the way in which
/// Python's pickler would have gone on: a container is made, then filled a thousand items at a time between a MARK and
/// SETITEMS or APPENDS, or, where it has only one, by SETITEM or APPEND; an object is made and then given its state.
namespace ckpt::pickle {
namespace {

/// Items that Python's pickler puts in at a time (pickle.py, _BATCHSIZE).
constexpr std::uint32_t batch = 1000;

}  // namespace

void Machine::add(const Slot& target, EffectKind kind, std::uint8_t code, std::span<const ValueId> operands) {
  ++now_;
  graph_.add_effect(target.id, kind, operands, code, now_, target.fetched);
  if (const auto known = filled_.find(target.id); known != filled_.end() && kind != EffectKind::build)
    known->second += static_cast<std::uint32_t>(operands.size());
}

bool Machine::is_key(ValueId id) const { return graph_.is_string(id) || graph_.kind(id) == ValueKind::integer; }

/// A container may still be given items where it has none, or whole batches of them.
bool Machine::is_filling(ValueId container) {
  const auto [known, fresh] = filled_.try_emplace(container, 0);
  std::uint32_t& count = known->second;
  for (auto handle = fresh ? graph_.first_effect(container) : 0; handle != 0; handle = graph_.effect(handle).next)
    if (graph_.effect(handle).kind != EffectKind::build) count += graph_.effect(handle).count;
  return count % (graph_.kind(container) == ValueKind::list ? batch : 2 * batch) == 0;
}

/// Leaves keys with their values: the rest was on its way into one of those, or into a call that was never made.
void Machine::settle_entries(std::vector<Slot>& operands) {
  const auto kind = [&](std::size_t i) { return graph_.kind(operands[i].id); };
  if (operands.size() % 2 != 0) {
    const Slot last = operands.back();
    operands.pop_back();
    if (!operands.empty() && !is_key(last.id)) {
      const Slot& target = operands.back();
      const ValueKind has = kind(operands.size() - 1);
      const ValueId operand[] = {last.id};
      if (has == ValueKind::list && is_filling(target.id))
        add(target, EffectKind::append, APPEND, operand);
      else if (has == ValueKind::object)
        add(target, EffectKind::build, BUILD, operand);
    }
  }
  if (!operands.empty() && kind(operands.size() - 1) == ValueKind::global) operands.resize(operands.size() - 2);
  // A container of one entry is given it without a mark. Where the key is of the kind of those around it, it is theirs.
  for (std::size_t count = operands.size(); count >= 4; count = operands.size()) {
    const Slot target = operands[count - 3];
    const ValueId pair[] = {operands[count - 2].id, operands[count - 1].id};
    const bool is_inner = is_key(pair[0]) && kind(count - 2) != kind(count - 4) && is_mapping(graph_, target.id);
    if (!is_inner || graph_.first_effect(target.id) != 0) break;
    add(target, EffectKind::set_items, SETITEM, pair);
    operands.resize(count - 2);
  }
}

/// Puts what stands above a mark into the container below it, if it is one that would have been given it.
void Machine::fill(const Slot& container, std::vector<Slot> operands) {
  if (!is_filling(container.id)) return;
  const auto ids = [&] {
    std::vector<ValueId> all;
    for (const Slot& slot : operands) all.push_back(slot.id);
    return all;
  };
  if (graph_.kind(container.id) == ValueKind::list) {
    const auto is_call = [&](std::size_t back) {
      return operands.size() >= back && graph_.kind(operands[operands.size() - back].id) == ValueKind::global;
    };
    if (is_call(1) || is_call(2)) operands.resize(operands.size() - (is_call(1) ? 1 : 2));
    if (!operands.empty()) add(container, EffectKind::append, APPENDS, ids());
  } else if (is_mapping(graph_, container.id)) {
    settle_entries(operands);
    for (std::size_t i = 0; i < operands.size(); i += 2)
      if (!is_key(operands[i].id)) operands.resize(i);  // from here on it was on its way into something else
    if (!operands.empty()) add(container, EffectKind::set_items, SETITEMS, ids());
  }
}

/// The stretch above the topmost mark.
void Machine::close_stretch() {
  const std::size_t floor = std::min(marks_.back(), stack_.size());
  marks_.pop_back();
  std::vector<Slot> operands(stack_.begin() + static_cast<std::ptrdiff_t>(floor), stack_.end());
  stack_.resize(floor);
  const std::size_t below = marks_.empty() ? 0 : marks_.back();
  if (floor > below) fill(stack_.back(), std::move(operands));
}

/// What no mark stands under: the root, and what was on its way into it.
void Machine::settle_bottom() {
  while (stack_.size() > 1) {
    const std::size_t count = stack_.size();
    const Slot last = stack_[count - 1], before = stack_[count - 2];
    const ValueId pair[] = {before.id, last.id};
    const auto made = std::span(pair);
    const bool complete = graph_.kind(last.id) != ValueKind::global;
    if (count > 2 && complete && is_key(before.id) && is_mapping(graph_, stack_[count - 3].id) &&
        is_filling(stack_[count - 3].id)) {
      add(stack_[count - 3], EffectKind::set_items, SETITEM, made);
      stack_.pop_back();
    } else if (complete && graph_.kind(before.id) == ValueKind::list && is_filling(before.id)) {
      add(before, EffectKind::append, APPEND, made.subspan(1));
    } else if (complete && graph_.kind(before.id) == ValueKind::object) {
      add(before, EffectKind::build, BUILD, made.subspan(1));
    }
    stack_.pop_back();
  }
}

void Machine::close() {
  while (!marks_.empty()) close_stretch();
  settle_bottom();
  program_.root = stack_.empty() || graph_.kind(stack_[0].id) == ValueKind::global ? no_value : stack_[0].id;
}

Salvage Machine::salvage() {
  Salvage result;
  try {
    result.program = run_to_end();
    return result;
  } catch (Error& error) {
    const bool is_damage = error.code() == ErrorCode::corrupt || error.code() == ErrorCode::truncated ||
                           error.code() == ErrorCode::unsupported;  // a damaged opcode may ask for anything
    if (!is_damage) throw;
    result.broken = error.in(source_.name()).at(at_);
  }
  close();
  check_work();
  judge_uses();
  if (program_.root != no_value) keep_unreached();
  if (!declared_) program_.protocol = 2;
  program_.end = std::max(at_, result.broken->offset().value_or(at_));
  result.program = std::move(program_);
  return result;
}

Salvage salvage(const ByteSource& source, std::uint64_t offset, ValueGraph& graph, std::uint64_t cap) {
  return Machine(source, offset, graph, cap).salvage();
}

}  // namespace ckpt::pickle
