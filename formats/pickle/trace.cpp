#include "pickle/trace.h"

#include <algorithm>
#include <charconv>

#include "io/bytes.h"
#include "io/machine_error.h"
#include "pickle/opcodes.h"
#include "pickle/tracer.h"

namespace ckpt::pickle {

std::string opcodes_of(const TracedName& name) {
  std::string list;
  for (const std::uint8_t code : name.by) list.append(list.empty() ? "" : ", ").append(opcode_table[code].name);
  return list;
}

bool is_called(const TracedName& name) {
  return std::any_of(name.by.begin(), name.by.end(), [](std::uint8_t code) {
    return code == REDUCE || code == INST || code == OBJ || code == NEWOBJ || code == NEWOBJ_EX;
  });
}

void Tracer::fail(std::string what, ErrorCode code) { throw Error(code, std::move(what)); }

void Tracer::count_to(std::size_t count) const {
  if (count >= options_.values)
    fail("the pickle keeps more than " + std::to_string(options_.values) + " values", ErrorCode::limit_exceeded);
}

void Tracer::push(Cell cell) {
  count_to(stack_.size());
  stack_.push_back(packed(cell));
}

std::span<const std::uint32_t> Tracer::take_from(std::size_t floor) {
  operands_.assign(stack_.begin() + static_cast<std::ptrdiff_t>(floor), stack_.end());
  stack_.resize(floor);
  return operands_;
}

std::span<const std::uint32_t> Tracer::pop(std::size_t count) {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - floor < count) fail("the pickle's stack is empty");
  return take_from(stack_.size() - count);
}

std::span<const std::uint32_t> Tracer::pop_to_mark() {
  if (marks_.empty()) fail("there is no mark on the pickle's stack");
  const std::size_t floor = marks_.back();
  marks_.pop_back();
  return take_from(floor);
}

Tracer::Cell Tracer::top() const {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) fail("the pickle's stack is empty");
  return unpacked(stack_.back());
}

void Tracer::put(std::uint64_t index) {
  if (!memo_.put(index, packed(top())))
    fail("the pickle's memo grows past " + std::to_string(options_.values) + " entries", ErrorCode::limit_exceeded);
}

void Tracer::get(std::uint64_t index) {
  trace_.fetches = true;
  const std::uint32_t bits = memo_.get(index);
  if (bits == no_value && !options_.continued && !has_odd_keys_)
    fail("memo entry " + std::to_string(index) + " is fetched before it is stored");
  trace_.lacks = trace_.lacks || (bits == no_value && options_.continued);
  push(shared(bits == no_value ? Cell{Kind::result, none} : unpacked(bits)));
}

void Tracer::step_memo(const Op& op) {
  if (op.code == MEMOIZE) return put(memo_.size());
  if (op.code == BINPUT || op.code == LONG_BINPUT) return put(static_cast<std::uint64_t>(op.integer));
  if (op.code == BINGET || op.code == LONG_BINGET) return get(static_cast<std::uint64_t>(op.integer));
  std::uint64_t index = 0;
  const char* const end = op.text.data() + op.text.size();
  const auto [stop, error] = std::from_chars(op.text.data(), end, index);
  const bool is_plain = error == std::errc{} && stop == end && (op.text.size() == 1 || op.text[0] != '0');
  if (is_plain) return op.code == PUT ? put(index) : get(index);
  // Python's int() knows more spellings than one, and Python 2 took the text itself for the key: which entry is meant
  // goes by who reads it. No pickler writes such a key.
  if (op.code == PUT) {
    static_cast<void>(top());
    has_odd_keys_ = true;
  } else if (!has_odd_keys_ && !options_.continued) {
    const std::string_view key = op.text.substr(0, op.text.find('\0'));  // CPython reads no further
    if (key.find_first_not_of("0123456789_+- \t\r\v\f") != key.npos)
      fail("a memo entry is fetched by what is no number");
  }
  suspect(op, "(memo)", op.text.substr(0, 40));
  if (op.code == GET) push({Kind::result, none});
}

void Tracer::step_effect(const Op& op) {
  Cell state;
  switch (op.code) {
    case APPEND:
      pop(1);
      break;
    case SETITEM:
      pop(2);
      break;
    case BUILD:
      state = unpacked(pop(1)[0]);
      break;
    default:
      pop_to_mark();
  }
  const Cell target = top();
  if (target.kind == Kind::text) texts_[target.index].is_changed = true;  // a bytearray
  trace_.changes = trace_.changes || target.kind == Kind::name || is_object(target);
  if (op.code == BUILD) return build(op, target, state);
  if (is_object(target) && target.index != none && !takes_items(trace_.names[target.index], op.code))
    refuse(target.index);
}

/// Of what is known, only Python's containers are given items, each in its own way.
bool Tracer::takes_items(const TracedName& name, std::uint8_t code) {
  if (name.risk != CallRisk::iterates) return false;
  const bool appends = code == APPEND || code == APPENDS;
  return ckpt::takes_items(name.name, appends            ? EffectKind::append
                                      : code == ADDITEMS ? EffectKind::add_items
                                                         : EffectKind::set_items);
}

void Tracer::build(const Op& op, Cell target, Cell state) {
  if (target.kind == Kind::plain || target.kind == Kind::text || target.kind == Kind::tuple) return;
  if (target.index == none) {
    // What a persistent id stands for is everybody's. (In a memo that goes on, it may be anything.)
    if (!options_.continued || target.kind == Kind::result) suspect(op, computed_name, computed_name);
    return;
  }
  reach(target.index, BUILD);
  TracedName& name = trace_.names[target.index];
  if (target.kind == Kind::name) {
    ++name.pushed;  // a use that is no call
    // What is imported is everybody's: a class that is given another method or name does in other hands what it should
    // not.
    name.verdict = Verdict::dangerous;
    return;
  }
  stack_.back() = packed(shared(target));
  if (is_stream(name) && state.kind == Kind::tuple && tuples_[state.index].first.kind == Kind::text)
    give(target.index, tuples_[state.index].first.index);
  if (name.verdict == Verdict::dangerous) ++name.pushed;
  // A state may be a method that the next one is given to; of an object, it is asked for. A dtype that others have is
  // another one in their hands.
  if (target.kind == Kind::again || is_object(state)) refuse(target.index);
  if (name.risk == CallRisk::has_no_state) refuse(target.index);
  // Their methods run with whatever attributes the file gives them.
  if (name.risk == CallRisk::is_made_bare && name.verdict == Verdict::known) name.verdict = Verdict::unknown;
}

/// What is pushed again.
Tracer::Cell Tracer::shared(Cell cell) {
  if (cell.kind == Kind::name) ++trace_.names[cell.index].pushed;
  if (cell.kind == Kind::result) cell.kind = Kind::again;
  return cell;
}

void Tracer::step_container(const Op& op) {
  switch (op.code) {
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
      return push(tuple_of(pop(op.code - TUPLE1 + 1U)));
    case TUPLE:
      return push(tuple_of(pop_to_mark()));
    case LIST:
    case DICT:
    case FROZENSET:
      pop_to_mark();
      return push(container);
    case EMPTY_TUPLE:
      return push({});
    default:
      return push(container);
  }
}

/// False after STOP.
bool Tracer::step(const Op& op) {
  switch (op.code) {
    case PROTO:
      if (op.integer > 5) fail("pickle protocol " + std::to_string(op.integer), ErrorCode::unsupported);
      protocol_ = op.integer;
      return true;
    case FRAME:
      return true;
    case STOP: {
      const Cell value = unpacked(pop(1)[0]);
      trace_.makes_plain = value.kind == Kind::plain && value.index != container.index;
      return false;
    }
    case MARK:
      count_to(marks_.size());
      marks_.push_back(stack_.size());
      return true;
    case POP:
      // As CPython does: on an empty stretch POP takes the mark itself.
      if (!marks_.empty() && marks_.back() == stack_.size())
        marks_.pop_back();
      else
        pop(1);
      return true;
    case POP_MARK:
      pop_to_mark();
      return true;
    case DUP: {
      const Cell cell = shared(top());
      stack_.back() = packed(cell);
      push(cell);
      return true;
    }
    case NEXT_BUFFER:
      push({});
      return true;
    case READONLY_BUFFER:
      top();
      return true;
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
      step_name(op);
      return true;
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

void Tracer::run_to_stop() {
  stack_.clear();
  marks_.clear();
  for (bool more = true; more;) {
    trace_.end = scanner_.offset();
    const Op op = scanner_.next();
    trace_.announced = trace_.announced || (trace_.instructions == 0 && op.code == PROTO);
    if (++trace_.instructions > options_.patience && trace_.names.empty())
      fail("no name and no end in " + std::to_string(options_.patience) + " instructions");
    if (scanner_.leaves_frame()) {
      trace_.odd_frame = true;
      suspect(op, "(frame)", opcode_table[op.code].name);
    }
    more = step(op);
  }
  trace_.end = scanner_.offset();
  const Frame* const frame = scanner_.open_frame();
  if (frame == nullptr) return;
  // Some readers have read it whole by then, and go on behind it, wherever STOP is.
  std::byte last{};
  if (source_->read_at(frame->end - 1, {&last, 1}) == 0)
    fail("a FRAME reaches past the end of the bytes", ErrorCode::truncated);
  trace_.odd_frame = true;
  fail("a FRAME reaches past the end of its pickle");
}

Trace Tracer::run() {
  try {
    do {
      run_to_stop();
    } while (trace_.end < options_.until);
    judge_appliers();
  } catch (Error& error) {
    if (is_of_the_machine(error)) throw;
    if (options_.until != 0) judge_appliers();
    trace_.broken = error.at(trace_.end);  // which a text that is cut has said more exactly
    try {
      if (error.code() == ErrorCode::truncated) import_cut_name();
    } catch (const Error& further) {  // past a cap; what broke the trace has been told
      if (is_of_the_machine(further)) throw;
    }
  }
  trace_.read = std::max(trace_.end, scanner_.read());
  return std::move(trace_);
}

Trace trace(const ByteSourcePtr& source, std::uint64_t offset, const TraceOptions& options) {
  return Tracer(source, offset, options).run();
}

}  // namespace ckpt::pickle
