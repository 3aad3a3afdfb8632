#include <algorithm>

#include "ckpt/utf8.h"
#include "io/bytes.h"
#include "io/latin1_source.h"
#include "model/byte_texts.h"
#include "model/python_names.h"
#include "pickle/literals.h"
#include "pickle/name_lists.h"
#include "pickle/opcodes.h"
#include "pickle/policy.h"
#include "pickle/tracer.h"

namespace ckpt::pickle {
namespace {

/// Whether Python's int() or float() might take the line: more spellings than CPython writes, and no prose.
bool is_like_a_number(std::string_view line) {
  constexpr std::string_view signs = "+-._ \t\r\v\f";
  // CPython reads no further than to a NUL.
  if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos) {
    line = line.substr(0, nul);
    if (line.empty()) return true;
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto fits = [&](char c) {
    const char lower = static_cast<char>(c | 0x20);
    return is_digit(c) || (lower >= 'a' && lower <= 'z') || signs.find(c) != std::string_view::npos;
  };
  if (!std::all_of(line.begin(), line.end(), fits)) return false;
  if (std::any_of(line.begin(), line.end(), is_digit)) return true;
  std::string word;
  for (const char c : line)
    if (signs.find(c) == std::string_view::npos) word.push_back(static_cast<char>(c | 0x20));
  return word == "nan" || word == "inf" || word == "infinity";
}

/// Whether a pickler writes that line for a number: "01", "-7L", "1e-05", "nan".
bool is_written_so(std::string_view line) {
  if (line.starts_with('-')) line.remove_prefix(1);
  if (line == "inf" || line == "nan") return true;
  if (line.ends_with('L')) line.remove_suffix(1);
  return !line.empty() && line[0] >= '0' && line[0] <= '9' &&
         line.find_first_not_of("0123456789.e+-") == std::string_view::npos;
}

}  // namespace

std::string_view Tracer::pooled(const Text& text) const {
  return std::string_view(pool_).substr(text.pooled_at, text.size);
}

void Tracer::add_text(Text text, std::string_view content) {
  count_to(texts_.size());
  if (content.size() > options_.text_bytes - std::min<std::uint64_t>(options_.text_bytes, pool_.size()))
    fail("the pickle's names and lines come to more than " + std::to_string(options_.text_bytes) + " bytes",
         ErrorCode::limit_exceeded);
  if (text.pooled) {
    text.pooled_at = pool_.size();
    text.size = content.size();
    pool_.append(content);
  }
  texts_.push_back(text);
  push({Kind::text, static_cast<std::uint32_t>(texts_.size() - 1)});
  const bool is_memory = gives_memory(content);
  if (!is_memory && !names_instantiator(content)) return;
  Op op;
  op.code = text.form == Form::str ? BINUNICODE : BINSTRING;
  op.offset = text.at;
  suspect(op, text_module, letters_of(content), is_memory ? Verdict::dangerous : Verdict::unknown);
}

void Tracer::push_text(const Op& op, Form form) {
  if (form == Form::str && !op.is_far && !is_utf8(op.text, Surrogates::allowed))
    fail("a string of the pickle is not UTF-8");
  Text text{.at = op.text_at, .size = op.text_size, .pooled = !op.is_far, .form = form};
  text.in_place = form == Form::bytes;
  add_text(text, op.text);
}

void Tracer::push_line(const Op& op) {
  std::optional<std::string> content;
  if (op.code == UNICODE) {
    content = unescape_unicode(op.text);
  } else {
    std::string_view line = op.text;
    while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') line.remove_suffix(1);
    const bool quoted =
        line.size() >= 2 && line.front() == line.back() && (line.front() == '\'' || line.front() == '"');
    if (quoted) content = unescape_string(line.substr(1, line.size() - 2));
  }
  if (!content) fail("a text of the pickle is no literal");
  add_text({.at = op.offset, .pooled = true, .form = op.code == UNICODE ? Form::str : Form::bytes}, *content);
}

void Tracer::step_literal(const Op& op) {
  switch (op.code) {
    case BINUNICODE:
    case SHORT_BINUNICODE:
    case BINUNICODE8:
      return push_text(op, Form::str);
    case BINSTRING:
    case SHORT_BINSTRING:
    case BINBYTES:
    case SHORT_BINBYTES:
    case BINBYTES8:
    case BYTEARRAY8:
      return push_text(op, Form::bytes);
    case STRING:
    case UNICODE:
      return push_line(op);
    case INT:
    case LONG:
    case FLOAT:
      if (!is_like_a_number(op.text)) fail("'" + std::string(op.text.substr(0, 40)) + "' is no number");
      if (!is_written_so(op.text)) suspect(op, "(number)", op.text.substr(0, 40));  // not all readers take it
      return push({});
    default:
      return push({});
  }
}

bool Tracer::acts(Cell cell) const {
  if (cell.kind == Kind::tuple) return tuples_[cell.index].acts;
  return is_object(cell) && cell.index != none && has_any_attributes(trace_.names[cell.index].module);
}

bool Tracer::any_acts(std::span<const std::uint32_t> items) const {
  return std::any_of(items.begin(), items.end(), [&](std::uint32_t item) { return acts(unpacked(item)); });
}

std::uint32_t Tracer::objects_among(std::span<const std::uint32_t> items) {
  for (std::size_t i = items.size(); i > 0; --i)
    if (is_object(unpacked(items[i - 1]))) return static_cast<std::uint32_t>(i);
  return 0;
}

Tracer::Cell Tracer::tuple_of(std::span<const std::uint32_t> items) {
  const auto is_plain = [](std::uint32_t item) { return unpacked(item).kind == Kind::plain; };
  if (std::all_of(items.begin(), items.end(), is_plain)) return {};
  count_to(tuples_.size());
  Tuple tuple{.size = static_cast<std::uint32_t>(items.size()), .first = unpacked(items[0]), .second = {}};
  tuple.objects = objects_among(items);
  tuple.acts = any_acts(items);
  if (items.size() > 1) tuple.second = unpacked(items[1]);
  tuples_.push_back(tuple);
  return {Kind::tuple, static_cast<std::uint32_t>(tuples_.size() - 1)};
}

void Tracer::reach(std::uint32_t name, std::uint8_t code) {
  std::vector<std::uint8_t>& by = trace_.names[name].by;
  if (std::find(by.begin(), by.end(), code) == by.end()) by.push_back(code);
}

void Tracer::import(const Op& op, std::string_view module, std::string_view name) {
  if (!is_utf8(module, Surrogates::allowed) || !is_utf8(name, Surrogates::allowed)) fail("a name that is no UTF-8");
  constexpr std::size_t most = limits::scan_name_bytes;
  if (std::max(module.size(), name.size()) > most) {  // nothing is called so, and each would be kept
    import_dangerous(op, module.substr(0, most), name.substr(0, most));
    // Nor is anything imported with a NUL in it: in a tar it is a file's name and all else that its header says.
    trace_.names[unpacked(stack_.back()).index].is_odd = module.find('\0') != std::string_view::npos;
    return;
  }
  const auto [found, fresh] =
      names_.try_emplace({std::string(module), std::string(name)}, static_cast<std::uint32_t>(trace_.names.size()));
  if (fresh) {
    if (trace_.names.size() >= limits::scan_parts)
      fail("the pickle imports more than " + std::to_string(limits::scan_parts) + " names", ErrorCode::limit_exceeded);
    trace_.names.push_back(
        {.module = found->first.first, .name = found->first.second, .verdict = {}, .offset = op.offset, .by = {}});
    trace_.names.back().verdict = judge_global(module, name);
    trace_.names.back().risk = call_risk(module, name);
    // A line of prose that begins with a c may have an empty one below it.
    const bool is_line = op.code != STACK_GLOBAL;
    trace_.names.back().is_odd = !is_dotted_name(module) || (is_line && name.empty());
  }
  // From protocol 3 on Python does not look Python 2's names up as its own: any file may be called so.
  Verdict& verdict = trace_.names[found->second].verdict;
  if (protocol_ > 2 && verdict == Verdict::known && to_python3(module, name).first != module)
    verdict = Verdict::dangerous;
  reach(found->second, op.code);
  ++trace_.names[found->second].pushed;
  push({Kind::name, found->second});
}

/// What is no name, and stands for one.
void Tracer::import_dangerous(const Op& op, std::string_view module, std::string_view name) {
  import(op, module, name);
  TracedName& imported = trace_.names[unpacked(stack_.back()).index];
  imported.verdict = Verdict::dangerous;
  imported.is_odd = false;
}

/// What is no name, and no pickler writes.
void Tracer::suspect(const Op& op, std::string_view module, std::string_view name, Verdict verdict) {
  import(op, module, name);
  trace_.names[unpacked(stack_.back()).index].verdict = verdict;
  stack_.pop_back();
}

/// GLOBAL or INST whose last line is cut off by the end of the bytes: Python's own unpickler in Python takes what is
/// there, less one byte, for the name.
void Tracer::import_cut_name() {
  std::vector<std::byte> rest(limits::scan_name_bytes);
  rest.resize(source_->read_at(trace_.end, rest));
  const std::string_view text = as_text(rest);
  if (text.size() < 3 || (text[0] != GLOBAL && text[0] != INST)) return;
  const std::size_t newline = text.find('\n');
  if (newline == std::string_view::npos || text.find('\n', newline + 1) != std::string_view::npos) return;
  const std::string_view module = text.substr(1, newline - 1), name = text.substr(newline + 1);
  if (module.find_first_of(" ;=") != std::string_view::npos) return;  // "import os; …": a line of Python's own
  Op op;
  op.code = static_cast<std::uint8_t>(text[0]);
  op.offset = trace_.end;
  import(op, module, name.substr(0, name.empty() ? 0 : name.size() - 1));
}

std::optional<std::string_view> Tracer::word(Cell cell) const {
  if (is_object(cell)) return std::nullopt;
  if (cell.kind != Kind::text) fail("STACK_GLOBAL is given something else than texts");
  const Text& text = texts_[cell.index];
  if (!text.pooled) return std::nullopt;
  return pooled(text);
}

void Tracer::import_from_stack(const Op& op) {
  const auto operands = pop(2);
  const Cell first = unpacked(operands[0]), second = unpacked(operands[1]);
  const auto module = word(first), name = word(second);
  if (module && name) return import(op, *module, *name);
  import_dangerous(op, module.value_or(computed_name), name.value_or(computed_name));
}

void Tracer::step_name(const Op& op) {
  switch (op.code) {
    case GLOBAL:
      return import(op, op.text, op.text2);
    case STACK_GLOBAL:
      return import_from_stack(op);
    case BINPERSID:
      return step_persistent(unpacked(pop(1)[0]));
    case PERSID:
      return push({Kind::result, none});
    default:
      break;
  }
  if (op.integer <= 0) fail("extension code " + std::to_string(op.integer));
  import_dangerous(op, extension_module, std::to_string(op.integer));
}

/// Torch's ids are ('storage', class, …), and in legacy files ('module', class, file, source), which stands for the
/// class: torch looks for its file, and writes another beside it where they differ.
void Tracer::step_persistent(Cell id) {
  trace_.persists = true;
  if (is_object(id) && id.index != none) refuse(id.index);
  if (id.kind == Kind::tuple) {
    const Tuple& tuple = tuples_[id.index];
    if (is_object(tuple.first) && tuple.first.index != none) refuse(tuple.first.index);
    const auto begins = tuple.first.kind == Kind::text ? word(tuple.first) : std::nullopt;
    if (begins == "module" && tuple.second.kind == Kind::name) return push(shared(tuple.second));
    if (begins == "module" && is_object(tuple.second) && tuple.second.index != none) refuse(tuple.second.index);
  }
  push({Kind::result, none});
}

/// _codecs.encode(text, 'latin1'): how protocols before 3 hold bytes.
bool Tracer::encodes(std::uint32_t name, const Tuple& arguments) {
  const TracedName& called = trace_.names[name];
  if (called.module != "_codecs" || called.name != "encode" || arguments.size != 2) return false;
  if (arguments.first.kind != Kind::text) return false;
  if (texts_[arguments.first.index].form != Form::str || arguments.second.kind != Kind::text) return false;
  const Text& codec = texts_[arguments.second.index];
  return codec.pooled && is_latin1(pooled(codec));
}

ByteSourcePtr Tracer::bytes_of(const Text& text) const {
  const std::string& name = source_->name();
  ByteSourcePtr bytes;
  if (text.pooled) {
    const auto content = as_bytes(pooled(text));
    bytes = memory_source({content.begin(), content.end()}, name);
  } else {
    bytes = slice(source_, text.at, text.size, name);
  }
  return text.form == Form::encoded ? latin1_source(bytes) : bytes;
}

bool Tracer::give(std::uint32_t name, std::uint32_t text) {
  if (trace_.names[name].verdict != Verdict::dangerous && !is_stream(trace_.names[name])) return true;
  if (texts_[text].is_changed) return false;
  const auto [found, fresh] = given_.try_emplace({name, texts_[text].at, texts_[text].form}, false);
  if (!fresh) return found->second;
  if (given_.size() > limits::scan_parts)
    fail("the pickle gives more than " + std::to_string(limits::scan_parts) + " texts to calls",
         ErrorCode::limit_exceeded);
  const ByteSourcePtr bytes = bytes_of(texts_[text]);
  if (bytes == nullptr) return false;
  trace_.given.push_back({name, bytes, texts_[text].in_place, texts_[text].at});
  return found->second = true;
}

}  // namespace ckpt::pickle
