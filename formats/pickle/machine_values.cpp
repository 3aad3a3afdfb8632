#include <algorithm>
#include <charconv>

#include "ckpt/utf8.h"
#include "io/latin1_source.h"
#include "model/byte_texts.h"
#include "model/calls.h"
#include "pickle/call_policy.h"
#include "pickle/literals.h"
#include "pickle/machine_state.h"
#include "pickle/policy.h"
#include "pickle/sharing.h"

namespace ckpt::pickle {
namespace {

/// What a call returns of a function that is known to return what it is given first; else the value itself.
ValueId returned_by(const ValueGraph& values, ValueId id) {
  for (int most = 16; most > 0; --most) {  // one in the other; no file has two
    if (values.kind(id) != ValueKind::object || values.call(id) != CallKind::reduce) return id;
    const auto [module, name] = callable(values, id);
    const auto arguments = call_arguments(values, id);
    if (arguments.empty() || call_risk(module, name) != CallRisk::returns_first) return id;
    id = arguments[0];
  }
  return id;
}

/// A call may make anything, but where it only spells bytes.
bool may_be_called(const ValueGraph& values, ValueId id) {
  const ValueKind kind = values.kind(id);
  if (kind == ValueKind::object) return text_of_bytes(values, id) == no_value;
  return kind == ValueKind::global || kind == ValueKind::extension || kind == ValueKind::persistent;
}

}  // namespace

void Machine::push_integer(const Op& op, std::string_view twos_complement) {
  const auto small = small_integer(twos_complement);
  made(op, small ? graph_.make_integer(*small) : graph_.make_big_integer(twos_complement));
}

void Machine::push_int_line(const Op& op) {
  // To CPython two characters that say 0 or 1 are a bool, however they say it.
  if (op.code == INT && (op.text == "00" || op.text == "-0" || op.text == "+0"))
    return made(op, graph_.make_boolean(false));
  if (op.code == INT && (op.text == "01" || op.text == "+1")) return made(op, graph_.make_boolean(true));
  std::string_view digits = op.text;
  if (digits.ends_with('\r')) digits.remove_suffix(1);
  if (op.code == LONG && digits.ends_with('L')) digits.remove_suffix(1);
  if (op.code == INT && digits.size() > 1 && digits[digits[0] == '-' ? 1 : 0] == '0') {
    const auto octal = octal_integer(digits);
    if (!octal) fail("'" + std::string(op.text.substr(0, 40)) + "' is no integer", "octal digits after the 0");
    return made(op, graph_.make_integer(*octal));
  }
  const auto bytes = decimal_to_bytes(digits);
  if (!bytes) fail("'" + std::string(op.text.substr(0, 40)) + "' is no integer", "decimal digits");
  push_integer(op, *bytes);
}

void Machine::push_text(const Op& op, ValueKind kind, std::string_view text) {
  if (kind == ValueKind::str && !op.is_far && !is_utf8(text, Surrogates::allowed))
    fail("a string of the pickle is not UTF-8");
  made(op, op.is_far ? graph_.make_far_text(kind, far_text(op, kind)) : graph_.make_text(kind, text));
  if (!op.is_far && gives_memory(text)) judge(text_module, letters_of(text), Verdict::dangerous);
  if (op.text_size >= long_text) program_.texts.push_back({stack_.back().id, op.text_at, kind != ValueKind::str});
}

ByteSourcePtr Machine::far_text(const Op& op, ValueKind kind) const {
  ByteSourcePtr bytes = slice(shared_source_, op.text_at, op.text_size, source_.source_name());
  if (kind != ValueKind::str || count_latin1(bytes)) return bytes;
  // A piece at a time; a character that a piece cuts is looked at with the next.
  std::string piece;
  for (std::uint64_t at = 0; at < op.text_size;) {
    const std::size_t left = piece.size();
    piece.resize(left + static_cast<std::size_t>(std::min<std::uint64_t>(limits::copy_chunk, op.text_size - at)));
    bytes->read_exactly(at, std::as_writable_bytes(std::span(piece).subspan(left)));
    at += piece.size() - left;
    std::size_t whole = piece.size();
    if (at < op.text_size)
      for (int back = 0; back < 4 && whole > 0 && (piece[whole - 1] & 0x80) != 0; ++back)
        if ((piece[--whole] & 0xC0) == 0xC0) break;
    if (!is_utf8(std::string_view(piece).substr(0, whole), Surrogates::allowed))
      fail("a string of the pickle is not UTF-8");
    piece.erase(0, whole);
  }
  return bytes;
}

/// The worst verdict on a name stays.
void Machine::judge(std::string_view module, std::string_view name, Verdict verdict) {
  GlobalUse& first = uses_.find_or_add({std::string(module), std::string(name), verdict, at_});
  first.verdict = std::max(first.verdict, verdict);
}

void Machine::judge(ValueId global, Verdict verdict) {
  if (graph_.kind(global) == ValueKind::global) judge(graph_.module(global), graph_.name(global), verdict);
}

ValueId Machine::global(std::string_view module, std::string_view name) {
  if (!is_utf8(module, Surrogates::allowed) || !is_utf8(name, Surrogates::allowed))
    fail("the name of a global is not UTF-8");
  if (!uses_.contains(module, name)) judge(module, name, judge_global(module, name));
  return graph_.make_global(module, name);
}

void Machine::push_stack_global(const Op& op) {
  const auto operands = pop(2);
  for (const ValueId operand : operands)
    if (!graph_.is_string(operand))
      fail("STACK_GLOBAL takes its name from something that is computed", "two strings", ErrorCode::unsupported);
  const std::string module(graph_.text(operands[0])), name(graph_.text(operands[1]));
  if (module.size() + name.size() >= shared_text) fetched_names_ += module.size() + name.size();
  if (fetched_names_ > caps_.shared + caps_.shared_ratio * (scanner_.offset() - begin_))
    fail("the pickle makes the same long names again and again", {}, ErrorCode::limit_exceeded);
  const ValueId id = global(module, name);
  graph_.set_items(id, operands);
  made(op, id);
}

void Machine::step_literal(const Op& op) {
  switch (op.code) {
    case NONE:
      return made_once(op, none_, [&] { return graph_.make_none(); });
    case NEWTRUE:
    case NEWFALSE: {
      const bool value = op.code == NEWTRUE;
      return made_once(op, booleans_[value ? 1 : 0], [&] { return graph_.make_boolean(value); });
    }
    case INT:
    case LONG:
      return push_int_line(op);
    case BININT1:
      return made_once(op, small_integers_[static_cast<std::size_t>(op.integer)],
                       [&] { return graph_.make_integer(op.integer); });
    case BININT:
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
      return made_once(op, empty_tuple_, [&] { return graph_.make_tuple({}); });
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
      return made(op, graph_.make_tuple(pop(op.code - TUPLE1 + 1u)));
    default:
      break;
  }
  const auto operands = pop_to_mark();
  if (op.code == DICT && operands.size() % 2 != 0) fail("DICT is given a key without a value", "pairs");
  const ValueKind kind = op.code == LIST    ? ValueKind::list
                         : op.code == DICT  ? ValueKind::dict
                         : op.code == TUPLE ? ValueKind::tuple
                                            : ValueKind::frozenset;
  made(op, graph_.make_container(kind, operands));
}

void Machine::step_call(const Op& op) {
  const char* const name = opcode_table[op.code].name.data();
  const auto expect_callable = [&](ValueId id) {
    if (!may_be_called(graph_, returned_by(graph_, id)))
      fail(std::string(name) + " calls a value that cannot be called", "a class or a function");
  };
  const auto expect_tuple = [&](ValueId id) {
    const ValueKind kind = graph_.kind(id);
    if (kind != ValueKind::tuple && kind != ValueKind::object && kind != ValueKind::persistent)
      fail(std::string(name) + " is given arguments that are no tuple", "a tuple");
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
      judge(extension_module, std::to_string(op.integer), Verdict::dangerous);
      return made(op, graph_.make_extension(op.integer));
    case PERSID: {
      if (!std::all_of(op.text.begin(), op.text.end(), [](unsigned char c) { return c < 0x80; }))
        fail("a persistent id is not ASCII");
      const ValueId text = graph_.make_text(ValueKind::str, op.text);
      graph_.set_made(text, now_);
      return made(op, graph_.make_persistent(text));
    }
    case BINPERSID:
      return made(op, graph_.make_persistent(pop(1)[0]));
    case INST: {
      const auto arguments = pop_to_mark();
      const ValueId type = global(op.text, op.text2);
      graph_.set_made(type, now_);
      std::vector<ValueId> items{type};
      items.insert(items.end(), arguments.begin(), arguments.end());
      return made(op, graph_.make_object(CallKind::inst, items));
    }
    case OBJ: {
      const auto operands = pop_to_mark();
      if (operands.empty()) fail("OBJ is given no class", "a class after the MARK");
      expect_callable(operands[0]);
      return made(op, graph_.make_object(CallKind::obj, operands));
    }
    default:
      break;
  }
  const auto operands = pop(op.code == NEWOBJ_EX ? 3 : 2);
  expect_callable(operands[0]);
  // libtorch spells a member of an Enum as a call of its class with the value.
  const bool is_of_script = op.code == REDUCE && graph_.kind(operands[0]) == ValueKind::global &&
                            graph_.module(operands[0]).starts_with("__torch__");
  if (!is_of_script) expect_tuple(operands[1]);
  const CallKind call = op.code == REDUCE   ? CallKind::reduce
                        : op.code == NEWOBJ ? CallKind::newobj
                                            : CallKind::newobj_ex;
  made(op, graph_.make_object(call, operands));
}

}  // namespace ckpt::pickle
