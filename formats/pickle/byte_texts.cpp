#include "pickle/byte_texts.h"

#include "io/bytes.h"
#include "io/latin1_source.h"

namespace ckpt::pickle {
namespace {

/// What `id` is given where it is a call of a name by a tuple; nothing else ever changes such a value.
bool is_plain_call(const ValueGraph& values, ValueId id) {
  return values.kind(id) == ValueKind::object && values.call(id) == CallKind::reduce && values.first_effect(id) == 0 &&
         values.kind(values.items(id)[1]) == ValueKind::tuple;
}

bool is_latin1(const ValueGraph& values, ValueId id) {
  if (!values.is_string(id) || values.far_text(id) != nullptr) return false;
  return values.text(id) == "latin1" || values.text(id) == "latin-1";
}

ByteSourcePtr text_source(const ValueGraph& values, ValueId id, const std::string& name) {
  if (ByteSourcePtr far = values.far_text(id)) return far;
  const auto bytes = as_bytes(values.text(id));
  return memory_source({bytes.begin(), bytes.end()}, name);
}

}  // namespace

bool is_global(const ValueGraph& values, ValueId id, std::string_view module, std::string_view name) {
  return values.kind(id) == ValueKind::global && values.module(id) == module && values.name(id) == name;
}

ValueId text_of_bytes(const ValueGraph& values, ValueId id) {
  const ValueKind kind = values.kind(id);
  if (kind == ValueKind::bytes || kind == ValueKind::bytearray || kind == ValueKind::py2_str) return id;
  if (!is_plain_call(values, id) || !is_global(values, values.items(id)[0], "_codecs", "encode")) return no_value;
  const auto arguments = values.items(values.items(id)[1]);
  if (arguments.size() != 2 || values.kind(arguments[0]) != ValueKind::str || !is_latin1(values, arguments[1]))
    return no_value;
  return arguments[0];
}

ByteSourcePtr bytes_of(const ValueGraph& values, ValueId id, const std::string& name) {
  if (const ValueId text = text_of_bytes(values, id); text != no_value) {
    const ByteSourcePtr source = text_source(values, text, name);
    return text == id ? source : latin1_source(source);
  }
  if (!is_plain_call(values, id)) return nullptr;
  const ValueId called = values.items(id)[0];
  const bool empty =
      is_global(values, called, "builtins", "bytes") || is_global(values, called, "__builtin__", "bytes");
  return empty && values.items(values.items(id)[1]).empty() ? memory_source({}, name) : nullptr;
}

}  // namespace ckpt::pickle
