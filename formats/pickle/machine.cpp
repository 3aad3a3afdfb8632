#include "pickle/machine.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "ckpt/limits.h"
#include "io/bytes.h"
#include "io/machine_error.h"
#include "model/pair_lists.h"
#include "pickle/call_policy.h"
#include "pickle/machine_state.h"
#include "pickle/misuse.h"
#include "pickle/policy.h"
#include "pickle/reach.h"
#include "pickle/sharing.h"

namespace ckpt::pickle {

void Machine::fail(std::string found, std::string expected, ErrorCode code) const {
  Error error(code, std::move(found));
  if (!expected.empty()) error.expected(std::move(expected));
  throw error.at(at_).in(source_.name());
}

std::span<const ValueId> Machine::take_from(std::size_t floor) {
  operands_.resize(stack_.size() - floor);
  for (std::size_t i = 0; i < operands_.size(); ++i) operands_[i] = stack_[floor + i].id;
  stack_.resize(floor);
  return operands_;
}

std::span<const ValueId> Machine::pop(std::size_t count) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - floor < count) fail("the pickle's stack is empty", "a value");
  return take_from(stack_.size() - count);
}

std::span<const ValueId> Machine::pop_to_mark() {
  if (marks_.empty()) fail("there is no mark on the pickle's stack", "a MARK before this opcode");
  const std::size_t floor = marks_.back();
  marks_.pop_back();
  return take_from(floor);
}

Slot& Machine::top() {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("the pickle's stack is empty", "a value");
  return stack_.back();
}

void Machine::made(const Op& op, ValueId id) {
  if (graph_.size() - first_value_ > caps_.values)
    fail("the pickle makes more than " + std::to_string(caps_.values) + " values", {}, ErrorCode::limit_exceeded);
  graph_.set_form(id, op.code);
  graph_.set_made(id, now_);
  stack_.push_back({id, false});
}

std::int64_t Machine::line_integer(const Op& op) const {
  std::int64_t value = 0;
  const char* const end = op.text.data() + op.text.size();
  const auto [stop, error] = std::from_chars(op.text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0)
    fail("'" + std::string(op.text.substr(0, 40)) + "' is no memo index", "a number");
  return value;
}

/// Whether what has changed the value last is an empty batch.
bool Machine::ends_in_empty(ValueId target, EffectKind kind) const {
  const std::uint32_t first = graph_.first_effect(target);
  if (first == 0) return false;
  const Effect& last = graph_.effect(graph_.effect(first).last);
  return last.kind == kind && last.count == 0;
}

void Machine::effect(const Op& op, EffectKind kind, std::span<const ValueId> operands) {
  const auto [target, fetched] = top();
  const ValueKind has = graph_.kind(target);
  const bool symbolic = has == ValueKind::object || has == ValueKind::persistent;
  const bool fits = kind == EffectKind::append      ? symbolic || has == ValueKind::list
                    : kind == EffectKind::set_items ? symbolic || has == ValueKind::dict
                    : kind == EffectKind::add_items
                        ? symbolic || has == ValueKind::set
                        : symbolic || has == ValueKind::global || has == ValueKind::extension;
  if (!fits) fail(std::string(opcode_table[op.code].name) + " on a value that cannot take it");
  // What does nothing is kept once: many would be walked over as often as the value is met.
  if (operands.empty() && ends_in_empty(target, kind)) return;
  // What is imported is everybody's: changed, it does in other hands what it should not.
  if (kind == EffectKind::build) {
    judge(target, Verdict::dangerous);
    if (has == ValueKind::persistent) judge(computed_name, computed_name, Verdict::dangerous);
  }
  graph_.add_effect(target, kind, operands, op.code, now_, fetched);
}

void Machine::step_effect(const Op& op) {
  switch (op.code) {
    case APPEND:
      return effect(op, EffectKind::append, pop(1));
    case SETITEM:
      return effect(op, EffectKind::set_items, pop(2));
    case BUILD:
      return effect(op, EffectKind::build, pop(1));
    default:
      break;
  }
  const auto operands = pop_to_mark();
  if (op.code == APPENDS) return effect(op, EffectKind::append, operands);
  if (op.code == ADDITEMS) return effect(op, EffectKind::add_items, operands);
  if (operands.size() % 2 != 0) fail("SETITEMS is given a key without a value", "pairs");
  effect(op, EffectKind::set_items, operands);
}

/// A value that may stand for others as well, as one of its own.
ValueId Machine::make_again(ValueId id) {
  const ValueKind kind = graph_.kind(id);
  const ValueId again = kind == ValueKind::none      ? graph_.make_none()
                        : kind == ValueKind::boolean ? graph_.make_boolean(graph_.boolean(id))
                        : kind == ValueKind::integer ? graph_.make_integer(graph_.integer(id))
                                                     : graph_.make_tuple({});
  graph_.set_form(again, graph_.form(id));
  graph_.set_made(again, graph_.made(id));
  return again;
}

void Machine::put(std::uint64_t index) {
  ValueId& id = top().id;
  // What has a place in the memo is written with it, and that is for one place in the source.
  if (makes_single(graph_.form(id)) && !graph_.memoized(id)) id = make_again(id);
  graph_.set_memoized(id);
  if (!memo_.put(index, id))
    fail("the pickle's memo grows past " + std::to_string(caps_.memo) + " entries", {}, ErrorCode::limit_exceeded);
}

void Machine::get(std::uint64_t index) {
  const ValueId id = memo_.get(index);
  if (id == no_value) fail("memo entry " + std::to_string(index) + " is fetched before it is stored");
  stack_.push_back({id, true});
}

void Machine::step_memo(const Op& op) {
  switch (op.code) {
    case PUT:
      return put(static_cast<std::uint64_t>(line_integer(op)));
    case GET:
      return get(static_cast<std::uint64_t>(line_integer(op)));
    case BINPUT:
    case LONG_BINPUT:
      return put(static_cast<std::uint64_t>(op.integer));
    case MEMOIZE:
      return put(memo_.size());
    default:
      return get(static_cast<std::uint64_t>(op.integer));  // BINGET, LONG_BINGET
  }
}

/// False after STOP.
bool Machine::step(const Op& op) {
  switch (op.code) {
    case PROTO:
      if (op.integer > 5) fail("pickle protocol " + std::to_string(op.integer), "0 to 5", ErrorCode::unsupported);
      program_.protocol = static_cast<int>(op.integer);
      declared_ = true;
      return true;
    case FRAME:
      return true;
    case STOP:
      return false;
    case MARK:
      marks_.push_back(stack_.size());
      return true;
    case POP:
      // As CPython does: on an empty stretch POP takes the mark itself.
      if (!marks_.empty() && marks_.back() == stack_.size())
        marks_.pop_back();
      else
        discard(pop(1)[0]);
      return true;
    case POP_MARK:
      for (const ValueId id : pop_to_mark()) discard(id);
      return true;
    case DUP:
      stack_.push_back({top().id, true});
      return true;
    case NEXT_BUFFER:
    case READONLY_BUFFER:
      fail("the pickle keeps buffers outside itself (protocol 5, NEXT_BUFFER)", "a pickle that holds all its data",
           ErrorCode::unsupported);
    case APPEND:
    case APPENDS:
    case SETITEM:
    case SETITEMS:
    case ADDITEMS:
    case BUILD:
      step_effect(op);
      return true;
    case PUT:
    case BINPUT:
    case LONG_BINPUT:
    case MEMOIZE:
    case GET:
    case BINGET:
    case LONG_BINGET:
      step_memo(op);
      return true;
    case EMPTY_LIST:
    case EMPTY_DICT:
    case EMPTY_SET:
    case EMPTY_TUPLE:
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
    case TUPLE:
    case LIST:
    case DICT:
    case FROZENSET:
      step_container(op);
      return true;
    case GLOBAL:
    case STACK_GLOBAL:
    case EXT1:
    case EXT2:
    case EXT4:
    case PERSID:
    case BINPERSID:
    case INST:
    case OBJ:
    case REDUCE:
    case NEWOBJ:
    case NEWOBJ_EX:
      step_call(op);
      return true;
    default:
      step_literal(op);
      return true;
  }
}

/// Drops from `discarded` what the root holds as well, and what nothing could have noticed.
void Machine::keep_unreached() {
  if (program_.discarded.empty()) return;
  const auto uses = count_uses(graph_, {program_.root});
  std::erase_if(program_.discarded, [&](ValueId id) {
    const bool inert = graph_.items(id).empty() && graph_.first_effect(id) == 0;
    return uses[id] != 0 || inert;
  });
}

Program Machine::run() {
  try {
    return run_to_end();
  } catch (Error& error) {
    if (error.file().empty()) error.at(at_).in(source_.name());
    name_dangers(error, program_.globals);
    throw;
  }
}

void Machine::run_to_stop() {
  bool uses_protocol1 = false;
  stack_.clear();
  marks_.clear();
  for (;;) {
    const Op& op = scanner_.next();
    at_ = op.offset;
    ++now_;
    if (now_ == std::numeric_limits<Time>::max())
      fail("the pickle has more than 4,294,967,294 instructions", {}, ErrorCode::limit_exceeded);
    uses_protocol1 = uses_protocol1 || opcode_table[op.code].protocol == 1;
    if (scanner_.leaves_frame())
      fail(std::string(opcode_table[op.code].name) + " begins within a FRAME and ends behind it",
           "instructions that lie in one frame, as picklers write them");
    if (!step(op)) break;
  }
  if (const Frame* const frame = scanner_.open_frame()) {
    at_ = frame->at;
    constexpr std::uint64_t head = 9;
    fail("a FRAME of " + std::to_string(frame->size) + " bytes reaches past the end of the pickle",
         "at most " + std::to_string(scanner_.offset() - frame->at - head));
  }
  program_.root = pop(1)[0];
  for (const Slot& slot : stack_) discard(slot.id);
  if (!declared_) program_.protocol = uses_protocol1 ? 1 : 0;
  program_.end = scanner_.offset();
}

Program Machine::run_to_end() {
  run_to_stop();
  while (program_.end < caps_.until) {
    discard(program_.root);
    run_to_stop();
  }
  keep_unreached();
  check_work();
  judge_uses();
  return std::move(program_);
}

void Machine::judge_uses() {
  for (const Misuse& misuse : misused_names(graph_, first_value_)) judge(misuse.name, misuse.verdict);
}

JudgedNames Machine::judge_names() {
  try {
    const Program program = run_to_end();
    return {program.globals, program.end, true};
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    if (error.code() != ErrorCode::limit_exceeded) judge_uses();
  }
  return {std::move(program_.globals), at_, false};
}

void Machine::check_work() const {
  const std::uint64_t most_pairs = limits::walk_step_cap(graph_.extent());
  if (pairs_given(graph_, static_cast<ValueId>(first_value_)) > most_pairs)
    fail("the pickle gives mappings more than " + std::to_string(most_pairs) + " pairs that they share", {},
         ErrorCode::limit_exceeded);
  const Sharing shared = count_sharing(graph_, first_value_);
  const std::uint64_t more = checked_mul(caps_.shared_ratio, shared.made).value_or(UINT64_MAX / 2);
  const auto check = [&](const std::string& whom, std::uint64_t bytes, std::uint64_t most) {
    if (bytes > most)
      fail("the pickle gives " + whom + " the same values again and again, " + std::to_string(bytes) + " bytes",
           "at most " + std::to_string(most), ErrorCode::limit_exceeded);
  };
  check("its calls", shared.given, caps_.shared + more);
  check("its dicts and sets", shared.keys, limits::walked_name_bytes + more);
}

Program run(const ByteSource& source, std::uint64_t offset, ValueGraph& graph, std::uint64_t cap) {
  return Machine(source, offset, graph, cap).run();
}

JudgedNames judge_as_one(const ByteSourcePtr& source, std::uint64_t offset, std::uint64_t until, std::uint64_t cap) {
  const MachineCaps caps{.values = limits::scan_values, .far_from = limits::pickle_far_text, .until = until};
  ValueGraph values;
  return Machine(source, offset, values, cap, caps).judge_names();
}

Program run_lazily(const ByteSourcePtr& source, std::uint64_t offset, ValueGraph& graph, std::uint64_t cap,
                   std::uint64_t far_from) {
  return Machine(source, offset, graph, cap, MachineCaps{.far_from = far_from}).run();
}

}  // namespace ckpt::pickle
