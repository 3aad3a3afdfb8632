#include "model/python_str.h"

#include <charconv>
#include <cmath>
#include <vector>

#include "model/big_integer.h"
#include "model/byte_texts.h"
#include "model/module_reader.h"
#include "model/python_names.h"

namespace ckpt {

namespace {

/// Bytes of one that is shown: digits take the square of them, and one may be many keys.
constexpr std::size_t longest_integer = 64;

template <class Float>
std::string shortest(Float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char digits[40];
  const Float magnitude = std::fabs(value);
  // Python changes to an exponent below 1e-4 and from 1e16 on.
  const bool plain = magnitude == 0 || (magnitude >= Float(1e-4) && magnitude < Float(1e16));
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, format);
  std::string text(digits, end);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

/// Of bytes that a call makes, as protocols before 3 have them.
std::string object_repr(const ValueGraph& values, ValueId id, std::size_t longest) {
  if (is_no_bytes(values, id)) return "b''";
  const ValueId of_bytes = text_of_bytes(values, id);
  if (of_bytes == no_value || values.far_text(of_bytes) != nullptr) return "<object>";
  std::string_view text = values.text(of_bytes).substr(0, longest);
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.remove_suffix(1);  // of a character cut
  const auto bytes = to_latin1(text);
  return bytes ? "b" + quote_string(*bytes) : "<object>";
}

}  // namespace

std::string float_repr(double value) { return shortest(value); }
std::string float32_repr(float value) { return shortest(value); }

std::string quote_string(std::string_view text, bool ascii) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\\' || c == quote)
      out += {'\\', c};
    else if (byte < 0x20 || byte == 0x7F || (ascii && byte > 0x7F))
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    else
      out.push_back(c);
  }
  return out + quote;
}

std::string atom_repr(const ValueGraph& values, ValueId id, std::size_t longest) {
  switch (values.kind(id)) {
    case ValueKind::none:
      return "None";
    case ValueKind::boolean:
      return values.boolean(id) ? "True" : "False";
    case ValueKind::integer:
      return std::to_string(values.integer(id));
    case ValueKind::big_integer:
      if (values.text(id).size() > longest_integer) return "<object>";
      return decimal_text(values.text(id)).value_or("<object>");
    case ValueKind::real:
      return float_repr(values.real(id));
    case ValueKind::str:
    case ValueKind::py2_str:
      return quote_string(values.text(id).substr(0, longest), false);
    case ValueKind::bytes:
      return "b" + quote_string(values.text(id).substr(0, longest));
    case ValueKind::global: {
      const auto [module, name] = to_python3(values.module(id).substr(0, longest), values.name(id).substr(0, longest));
      return module + "." + name;
    }
    case ValueKind::persistent: {
      const ValueId with_source = class_with_source(values, id);
      return with_source == no_value ? "<object>" : atom_repr(values, with_source, longest);
    }
    case ValueKind::object:
      return object_repr(values, id, longest);
    default:
      return "<object>";
  }
}

std::string python_str(const ValueGraph& values, ValueId id) {
  constexpr std::size_t longest = 4096;  // of a name that only a hostile file would give
  if (values.is_string(id)) return std::string(values.text(id));
  if (values.kind(id) != ValueKind::tuple) return atom_repr(values, id, longest);
  struct Open {
    ValueId tuple;
    std::size_t next;
  };
  std::vector<Open> open{{id, 0}};
  std::string out = "(";
  while (!open.empty() && out.size() < longest) {
    auto& [tuple, next] = open.back();
    const auto items = values.items(tuple);
    if (next == items.size()) {
      out += items.size() == 1 ? ",)" : ")";
      open.pop_back();
      continue;
    }
    if (next > 0) out += ", ";
    const ValueId item = items[next++];
    if (values.kind(item) == ValueKind::tuple) {
      out += "(";
      open.push_back({item, 0});
    } else {
      out += atom_repr(values, item, longest);
    }
  }
  return out;
}

std::optional<Error> unprintable_key(std::string_view text, const std::string& which) {
  if (text.find("<object>") == std::string_view::npos) return std::nullopt;
  return Error(ErrorCode::unsupported, which + " is an object, which only running code could print")
      .expected("keys that are strings, or become such")
      .hint("--format torch keeps such keys");
}

}  // namespace ckpt
