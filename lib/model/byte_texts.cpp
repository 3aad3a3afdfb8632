#include "model/byte_texts.h"

#include "io/bytes.h"
#include "io/latin1_source.h"

namespace ckpt {
namespace {

/// What `id` is given where it is a call of a name by a tuple; nothing else ever changes such a value.
bool is_plain_call(const ValueGraph& values, ValueId id) {
  return values.kind(id) == ValueKind::object && values.call(id) == CallKind::reduce && values.first_effect(id) == 0 &&
         values.kind(values.items(id)[1]) == ValueKind::tuple;
}

bool names_latin1(const ValueGraph& values, ValueId id) {
  return values.is_string(id) && values.far_text(id) == nullptr && is_latin1(values.text(id));
}

ByteSourcePtr text_source(const ValueGraph& values, ValueId id, const std::string& name) {
  if (ByteSourcePtr far = values.far_text(id)) return far;
  const auto bytes = as_bytes(values.text(id));
  return memory_source({bytes.begin(), bytes.end()}, name);
}

}  // namespace

std::optional<std::string> to_latin1(std::string_view utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      bytes.push_back(utf8[i]);
    } else {
      if (lead > 0xC3 || i + 1 == utf8.size()) return std::nullopt;
      bytes.push_back(static_cast<char>((lead & 3U) << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3FU)));
    }
  }
  return bytes;
}

bool is_global(const ValueGraph& values, ValueId id, std::string_view module, std::string_view name) {
  return id != no_value && values.kind(id) == ValueKind::global && values.module(id) == module &&
         values.name(id) == name;
}

ValueId text_of_bytes(const ValueGraph& values, ValueId id) {
  const ValueKind kind = values.kind(id);
  if (kind == ValueKind::bytes || kind == ValueKind::bytearray || kind == ValueKind::py2_str) return id;
  if (!is_plain_call(values, id) || !is_global(values, values.items(id)[0], "_codecs", "encode")) return no_value;
  const auto arguments = values.items(values.items(id)[1]);
  if (arguments.size() != 2 || values.kind(arguments[0]) != ValueKind::str || !names_latin1(values, arguments[1]))
    return no_value;
  return arguments[0];
}

bool is_no_bytes(const ValueGraph& values, ValueId id) {
  if (!is_plain_call(values, id) || !values.items(values.items(id)[1]).empty()) return false;
  const ValueId called = values.items(id)[0];
  return is_global(values, called, "builtins", "bytes") || is_global(values, called, "__builtin__", "bytes");
}

ByteSourcePtr bytes_of(const ValueGraph& values, ValueId id, const std::string& name) {
  if (const ValueId text = text_of_bytes(values, id); text != no_value) {
    const ByteSourcePtr source = text_source(values, text, name);
    return text == id ? source : latin1_source(source);
  }
  return is_no_bytes(values, id) ? memory_source({}, name) : nullptr;
}

}  // namespace ckpt
