#include "pickle/machine.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <string>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "pickle/literals.h"
#include "pickle/memo.h"
#include "pickle/policy.h"
#include "pickle/reach.h"
#include "pickle/scanner.h"

namespace ckpt::pickle {
namespace {

/// A value on the stack; `fetched` where it was pushed again rather than made here.
struct Slot {
  ValueId id;
  bool fetched;
};

class Machine {
 public:
  Machine(const ByteSource& source, std::uint64_t offset, ValueGraph& graph)
      : source_(source), scanner_(source, offset), graph_(graph), first_value_(graph.size()) {}

  Program run();

 private:
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
  Program program_;
  std::vector<Slot> stack_;
  std::vector<std::size_t> marks_;
  Memo memo_;
  std::set<std::pair<std::string, std::string>> seen_globals_;
  std::vector<ValueId> operands_;  // reused by ids()
  Time now_ = 0;
  std::uint64_t at_ = 0;
  bool declared_ = false;

  std::span<const ValueId> ids(const std::vector<Slot>& slots) {
    operands_.clear();
    for (const Slot& slot : slots) operands_.push_back(slot.id);
    return operands_;
  }
};

void Machine::fail(std::string found, std::string expected, ErrorCode code) const {
  Error error(code, std::move(found));
  if (!expected.empty()) error.expected(std::move(expected));
  throw error.at(at_).in(source_.name());
}

Slot Machine::pop() {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("the pickle's stack is empty", "a value");
  const Slot slot = stack_.back();
  stack_.pop_back();
  return slot;
}

std::vector<Slot> Machine::pop(std::size_t count) {
  std::vector<Slot> slots(count);
  for (std::size_t i = count; i-- > 0;) slots[i] = pop();
  return slots;
}

std::vector<Slot> Machine::pop_to_mark() {
  if (marks_.empty()) fail("there is no mark on the pickle's stack", "a MARK before this opcode");
  const std::size_t floor = marks_.back();
  marks_.pop_back();
  std::vector<Slot> slots(stack_.begin() + static_cast<std::ptrdiff_t>(floor), stack_.end());
  stack_.resize(floor);
  return slots;
}

Slot& Machine::top() {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("the pickle's stack is empty", "a value");
  return stack_.back();
}

void Machine::made(const Op& op, ValueId id) {
  if (graph_.size() - first_value_ > limits::pickle_values)
    fail("the pickle makes more than " + std::to_string(limits::pickle_values) + " values", {},
         ErrorCode::limit_exceeded);
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

void Machine::push_integer(const Op& op, std::string_view twos_complement) {
  const auto small = small_integer(twos_complement);
  made(op, small ? graph_.make_integer(*small) : graph_.make_big_integer(twos_complement));
}

void Machine::push_int_line(const Op& op) {
  if (op.code == INT && (op.text == "00" || op.text == "01")) return made(op, graph_.make_boolean(op.text == "01"));
  std::string_view digits = op.text;
  if (digits.ends_with('\r')) digits.remove_suffix(1);
  if (op.code == LONG && digits.ends_with('L')) digits.remove_suffix(1);
  const auto bytes = decimal_to_bytes(digits);
  if (!bytes) fail("'" + std::string(op.text.substr(0, 40)) + "' is no integer", "decimal digits");
  push_integer(op, *bytes);
}

void Machine::push_text(const Op& op, ValueKind kind, std::string_view text) {
  if (kind == ValueKind::str && !is_utf8(text)) fail("a string of the pickle is not UTF-8");
  made(op, graph_.make_text(kind, text));
}

ValueId Machine::global(std::string_view module, std::string_view name) {
  if (seen_globals_.emplace(module, name).second)
    program_.globals.push_back({std::string(module), std::string(name), judge_global(module, name), at_});
  return graph_.make_global(module, name);
}

void Machine::push_stack_global(const Op& op) {
  const auto operands = pop(2);
  for (const Slot& slot : operands)
    if (graph_.kind(slot.id) != ValueKind::str && graph_.kind(slot.id) != ValueKind::py2_str)
      fail("STACK_GLOBAL takes its name from something that is computed", "two strings", ErrorCode::unsupported);
  const std::string module(graph_.text(operands[0].id)), name(graph_.text(operands[1].id));
  const ValueId id = global(module, name);
  graph_.set_items(id, ids(operands));
  made(op, id);
}

void Machine::step_literal(const Op& op) {
  switch (op.code) {
    case NONE:
      return made(op, graph_.make_none());
    case NEWTRUE:
    case NEWFALSE:
      return made(op, graph_.make_boolean(op.code == NEWTRUE));
    case INT:
    case LONG:
      return push_int_line(op);
    case BININT:
    case BININT1:
    case BININT2:
      return made(op, graph_.make_integer(op.integer));
    case LONG1:
    case LONG4:
      return push_integer(op, op.text);
    case BINFLOAT:
      return made(op, graph_.make_real(op.real));
    case FLOAT: {
      double value = 0;
      const char* const end = op.text.data() + op.text.size();
      const char* const start = op.text.data() + (op.text.starts_with('+') ? 1 : 0);
      const auto [stop, error] = std::from_chars(start, end, value);
      if (error != std::errc{} || stop != end)
        fail("'" + std::string(op.text.substr(0, 40)) + "' is no number", "a float");
      return made(op, graph_.make_real(value));
    }
    case STRING: {
      const bool quoted = op.text.size() >= 2 && op.text.front() == op.text.back() &&
                          (op.text.front() == '\'' || op.text.front() == '"');
      const auto text = quoted ? unescape_string(op.text.substr(1, op.text.size() - 2)) : std::nullopt;
      if (!text) fail("a STRING is not a quoted literal", "'…' or \"…\"");
      return push_text(op, ValueKind::py2_str, *text);
    }
    case UNICODE: {
      const auto text = unescape_unicode(op.text);
      if (!text) fail("a UNICODE line has a broken escape", "\\uXXXX");
      return push_text(op, ValueKind::str, *text);
    }
    case BINUNICODE:
    case SHORT_BINUNICODE:
    case BINUNICODE8:
      return push_text(op, ValueKind::str, op.text);
    case BINSTRING:
    case SHORT_BINSTRING:
      return push_text(op, ValueKind::py2_str, op.text);
    case BYTEARRAY8:
      return push_text(op, ValueKind::bytearray, op.text);
    default:
      return push_text(op, ValueKind::bytes, op.text);  // BINBYTES, SHORT_BINBYTES, BINBYTES8
  }
}

void Machine::step_container(const Op& op) {
  switch (op.code) {
    case EMPTY_LIST:
      return made(op, graph_.make_container(ValueKind::list));
    case EMPTY_DICT:
      return made(op, graph_.make_container(ValueKind::dict));
    case EMPTY_SET:
      return made(op, graph_.make_container(ValueKind::set));
    case EMPTY_TUPLE:
      return made(op, graph_.make_container(ValueKind::tuple));
    case TUPLE1:
    case TUPLE2:
    case TUPLE3: {
      const auto operands = pop(op.code - TUPLE1 + 1u);
      return made(op, graph_.make_tuple(ids(operands)));
    }
    default:
      break;
  }
  const auto operands = pop_to_mark();
  if (op.code == DICT && operands.size() % 2 != 0) fail("DICT is given a key without a value", "pairs");
  const ValueKind kind = op.code == LIST    ? ValueKind::list
                         : op.code == DICT  ? ValueKind::dict
                         : op.code == TUPLE ? ValueKind::tuple
                                            : ValueKind::frozenset;
  made(op, graph_.make_container(kind, ids(operands)));
}

void Machine::step_call(const Op& op) {
  const auto expect_tuple = [&](ValueId id, const char* who) {
    const ValueKind kind = graph_.kind(id);
    if (kind != ValueKind::tuple && kind != ValueKind::object && kind != ValueKind::persistent)
      fail(std::string(who) + " is given arguments that are no tuple", "a tuple");
  };
  switch (op.code) {
    case GLOBAL:
      return made(op, global(op.text, op.text2));
    case STACK_GLOBAL:
      return push_stack_global(op);
    case EXT1:
    case EXT2:
    case EXT4:
      if (op.integer <= 0) fail("extension code " + std::to_string(op.integer), "a code above 0");
      if (seen_globals_.emplace("copyreg.extension", std::to_string(op.integer)).second)
        program_.globals.push_back({"copyreg.extension", std::to_string(op.integer), Verdict::dangerous, at_});
      return made(op, graph_.make_extension(op.integer));
    case PERSID: {
      const ValueId text = graph_.make_text(ValueKind::str, op.text);
      graph_.set_made(text, now_);
      return made(op, graph_.make_persistent(text));
    }
    case BINPERSID: {
      const auto operands = pop(1);
      return made(op, graph_.make_persistent(operands[0].id));
    }
    case INST: {
      const auto arguments = pop_to_mark();
      const ValueId type = global(op.text, op.text2);
      graph_.set_made(type, now_);
      std::vector<ValueId> items{type};
      for (const Slot& slot : arguments) items.push_back(slot.id);
      return made(op, graph_.make_object(CallKind::inst, items));
    }
    case OBJ: {
      const auto operands = pop_to_mark();
      if (operands.empty()) fail("OBJ is given no class", "a class after the MARK");
      return made(op, graph_.make_object(CallKind::obj, ids(operands)));
    }
    default:
      break;
  }
  const auto operands = pop(op.code == NEWOBJ_EX ? 3 : 2);
  expect_tuple(operands[1].id, opcode_table[op.code].name.data());
  const CallKind call = op.code == REDUCE   ? CallKind::reduce
                        : op.code == NEWOBJ ? CallKind::newobj
                                            : CallKind::newobj_ex;
  made(op, graph_.make_object(call, ids(operands)));
}

void Machine::effect(const Op& op, EffectKind kind, const std::vector<Slot>& operands) {
  const auto [target, fetched] = top();
  const ValueKind has = graph_.kind(target);
  const bool symbolic = has == ValueKind::object || has == ValueKind::persistent;
  const bool fits = kind == EffectKind::append      ? symbolic || has == ValueKind::list
                    : kind == EffectKind::set_items ? symbolic || has == ValueKind::dict
                    : kind == EffectKind::add_items
                        ? symbolic || has == ValueKind::set
                        : symbolic || has == ValueKind::global || has == ValueKind::extension;
  if (!fits) fail(std::string(opcode_table[op.code].name) + " on a value that cannot take it");
  graph_.add_effect(target, kind, ids(operands), op.code, now_, fetched);
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

void Machine::put(std::uint64_t index) {
  const ValueId id = top().id;
  graph_.set_memoized(id);
  if (!memo_.put(index, id))
    fail("the pickle's memo grows past " + std::to_string(limits::pickle_memo) + " entries", {},
         ErrorCode::limit_exceeded);
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
        discard(pop().id);
      return true;
    case POP_MARK:
      for (const Slot& slot : pop_to_mark()) discard(slot.id);
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
  int highest = 0;
  for (;;) {
    const Op op = scanner_.next();
    at_ = op.offset;
    ++now_;
    if (now_ == std::numeric_limits<Time>::max())
      fail("the pickle has more than 4,294,967,294 instructions", {}, ErrorCode::limit_exceeded);
    highest = std::max(highest, opcode_table[op.code].protocol);
    if (!step(op)) break;
  }
  program_.root = pop().id;
  for (const Slot& slot : stack_) discard(slot.id);
  keep_unreached();
  if (!declared_) program_.protocol = std::min(highest, 1);
  program_.end = scanner_.offset();
  return std::move(program_);
}

}  // namespace

Program run(const ByteSource& source, std::uint64_t offset, ValueGraph& graph) {
  return Machine(source, offset, graph).run();
}

}  // namespace ckpt::pickle
