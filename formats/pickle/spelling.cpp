#include "pickle/spelling.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "model/python_names.h"
#include "model/python_str.h"
#include "pickle/literals.h"
#include "pickle/opcodes.h"

namespace ckpt::pickle {
namespace {

constexpr std::uint64_t max_u8 = 0xFF, max_u16 = 0xFFFF, max_u32 = 0xFFFFFFFF;
constexpr std::uint64_t max_i32 = 0x7FFFFFFF;

void put_op(std::string& out, std::uint8_t code) { out.push_back(static_cast<char>(code)); }

void put_line(std::string& out, std::uint8_t code, std::string_view line) {
  put_op(out, code);
  out += line;
  out.push_back('\n');
}

template <class Length>
void put_counted(std::string& out, std::uint8_t code, std::string_view text) {
  put_op(out, code);
  append_le(out, static_cast<Length>(text.size()));
  out += text;
}

/// A counted string in the shortest of its opcodes that the protocol has; `form` wins where the length fits it.
struct CountedOps {
  std::uint8_t short_op, long_op, huge_op;  // 0: there is none
};

void put_counted(std::string& out, const CountedOps& ops, std::string_view text, std::uint8_t form) {
  const bool fits_short = text.size() <= max_u8;
  if (form == ops.short_op && ops.short_op != 0 && fits_short) return put_counted<std::uint8_t>(out, form, text);
  if (form == ops.long_op && text.size() <= max_i32) return put_counted<std::uint32_t>(out, form, text);
  if (form == ops.huge_op && ops.huge_op != 0) return put_counted<std::uint64_t>(out, form, text);
  if (ops.short_op != 0 && fits_short) return put_counted<std::uint8_t>(out, ops.short_op, text);
  if (text.size() <= max_i32 || (ops.huge_op == 0 && ops.long_op != BINSTRING && text.size() <= max_u32))
    return put_counted<std::uint32_t>(out, ops.long_op, text);
  if (ops.huge_op == 0)
    throw Error(ErrorCode::unsupported, "a string of " + std::to_string(text.size()) + " bytes")
        .expected("at most 4 GiB in this pickle protocol")
        .hint("write with --protocol 4");
  put_counted<std::uint64_t>(out, ops.huge_op, text);
}

void write_integer(std::string& out, std::int64_t value, std::uint8_t form, int protocol) {
  const auto unsigned_value = static_cast<std::uint64_t>(value);
  const bool fits_i32 =
      value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
  const auto put_long = [&](std::uint8_t code) {
    const std::string bytes = integer_bytes(value);
    code == LONG4 ? put_counted<std::uint32_t>(out, code, bytes) : put_counted<std::uint8_t>(out, code, bytes);
  };
  switch (form) {
    case INT:
      return put_line(out, INT, std::to_string(value));
    case LONG:
      return put_line(out, LONG, std::to_string(value) + "L");
    case LONG1:
    case LONG4:
      return put_long(form);
    case BININT:
      if (!fits_i32) break;
      put_op(out, BININT);
      return append_le(out, static_cast<std::int32_t>(value));
    case BININT2:
      if (unsigned_value > max_u16) break;
      put_op(out, BININT2);
      return append_le(out, static_cast<std::uint16_t>(value));
    default:
      break;
  }
  if (protocol == 0) return put_line(out, fits_i32 ? INT : LONG, std::to_string(value) + (fits_i32 ? "" : "L"));
  if (unsigned_value <= max_u8) {
    put_op(out, BININT1);
    append_le(out, static_cast<std::uint8_t>(value));
  } else if (unsigned_value <= max_u16) {
    put_op(out, BININT2);
    append_le(out, static_cast<std::uint16_t>(value));
  } else if (fits_i32) {
    put_op(out, BININT);
    append_le(out, static_cast<std::int32_t>(value));
  } else if (protocol < 2) {
    put_line(out, LONG, std::to_string(value) + "L");
  } else {
    put_long(LONG1);
  }
}

void write_big_integer(std::string& out, std::string_view bytes, std::uint8_t form, int protocol) {
  if (form == LONG || form == INT || protocol < 2) {
    const std::string digits = bytes_to_decimal(bytes);
    return form == INT ? put_line(out, INT, digits) : put_line(out, LONG, digits + "L");
  }
  if (form == LONG4 || bytes.size() > max_u8) return put_counted<std::uint32_t>(out, LONG4, bytes);
  put_counted<std::uint8_t>(out, LONG1, bytes);
}

void write_real(std::string& out, double value, std::uint8_t form, int protocol) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  constexpr std::uint64_t text_nan = 0x7FF8000000000000;  // the one that "nan" reads as
  const bool sayable = !std::isnan(value) || bits == text_nan;
  if ((form == FLOAT || protocol == 0) && sayable) return put_line(out, FLOAT, float_repr(value));
  put_op(out, BINFLOAT);
  append_le(out, __builtin_bswap64(bits));
}

/// Before protocol 3 there were no bytes: Python writes a call that encodes a str.
void write_encoded(std::string& out, std::string_view bytes, int protocol) {
  write_global(out, "_codecs", "encode", protocol);
  if (protocol < 2) put_op(out, MARK);
  write_str(out, latin1_to_utf8(bytes), 0, protocol);
  write_str(out, "latin1", 0, protocol);
  put_op(out, protocol < 2 ? TUPLE : TUPLE2);
  put_op(out, REDUCE);
}

void write_bytearray(std::string& out, std::string_view bytes, std::uint8_t form, int protocol) {
  if (protocol >= 5 || form == BYTEARRAY8) return put_counted<std::uint64_t>(out, BYTEARRAY8, bytes);
  write_global(out, "builtins", "bytearray", protocol);
  if (protocol < 2) put_op(out, MARK);
  if (protocol >= 3)
    put_counted(out, {SHORT_BINBYTES, BINBYTES, static_cast<std::uint8_t>(protocol >= 4 ? BINBYTES8 : 0)}, bytes, 0);
  else
    write_encoded(out, bytes, protocol);
  put_op(out, protocol < 2 ? TUPLE : TUPLE1);
  put_op(out, REDUCE);
}

void write_extension(std::string& out, std::int64_t code, std::uint8_t form) {
  const auto value = static_cast<std::uint64_t>(code);
  if (value <= max_u8 && (form == 0 || form == EXT1)) {
    put_op(out, EXT1);
    append_le(out, static_cast<std::uint8_t>(code));
  } else if (value <= max_u16 && form != EXT4) {
    put_op(out, EXT2);
    append_le(out, static_cast<std::uint16_t>(code));
  } else {
    put_op(out, EXT4);
    append_le(out, static_cast<std::int32_t>(code));
  }
}

void write_named_global(std::string& out, const ValueGraph& graph, ValueId id, const Spelling& spelling) {
  const auto [module, name] = spelt_name(graph, id, spelling);
  if (spelling.protocol < 4) return put_line(out, GLOBAL, module + "\n" + name);
  write_str(out, module, 0, spelling.protocol);
  write_str(out, name, 0, spelling.protocol);
  put_op(out, STACK_GLOBAL);
}

}  // namespace

void write_str(std::string& out, std::string_view utf8, std::uint8_t form, int protocol) {
  if (form == UNICODE || (form == 0 && protocol == 0)) return put_line(out, UNICODE, escape_unicode(utf8));
  const bool has_short = protocol >= 4 || form == SHORT_BINUNICODE || form == BINUNICODE8;
  put_counted(out,
              {static_cast<std::uint8_t>(has_short ? SHORT_BINUNICODE : 0), BINUNICODE,
               static_cast<std::uint8_t>(has_short ? BINUNICODE8 : 0)},
              utf8, form);
}

std::pair<std::string, std::string> spelt_name(const ValueGraph& graph, ValueId id, const Spelling& spelling) {
  std::string module(graph.module(id)), name(graph.name(id));
  const bool unsayable = module.find('\n') != std::string::npos || name.find('\n') != std::string::npos;
  const bool nested = spelling.source_protocol >= 4 && name.find('.') != std::string::npos;
  if (spelling.protocol < 4 && (unsayable || nested))
    throw Error(ErrorCode::unsupported, "the global '" + module + "' '" + name + "' has a name that protocol " +
                                            std::to_string(spelling.protocol) + " cannot say")
        .hint("write with --protocol 4");
  if (spelling.source_protocol < 3 && spelling.protocol >= 3) return to_python3(module, name);
  if (spelling.source_protocol < 3 || spelling.protocol >= 3) return {module, name};
  // A name that would come back as another (FileNotFoundError as OSError) stays: Python 3 finds it as it is.
  const auto old = to_python2(module, name);
  return to_python3(old.first, old.second) == std::pair(module, name) ? old : std::pair(module, name);
}

void write_global(std::string& out, std::string_view module, std::string_view name, int protocol) {
  std::string m(module), n(name);
  if (protocol < 3) std::tie(m, n) = to_python2(m, n);
  put_op(out, GLOBAL);
  out += m + "\n" + n + "\n";
}

void write_atom(std::string& out, const ValueGraph& graph, ValueId id, const Spelling& spelling) {
  const std::uint8_t form = spelling.form(graph.form(id));
  const int protocol = spelling.protocol;
  switch (graph.kind(id)) {
    case ValueKind::none:
      return put_op(out, NONE);
    case ValueKind::boolean:
      if (form == INT || (form == 0 && protocol < 2)) return put_line(out, INT, graph.boolean(id) ? "01" : "00");
      return put_op(out, graph.boolean(id) ? NEWTRUE : NEWFALSE);
    case ValueKind::integer:
      return write_integer(out, graph.integer(id), form, protocol);
    case ValueKind::big_integer:
      return write_big_integer(out, graph.text(id), form, protocol);
    case ValueKind::real:
      return write_real(out, graph.real(id), form, protocol);
    case ValueKind::str:
      return write_str(out, graph.text(id), form, protocol);
    case ValueKind::bytes:
      if (protocol < 3 && form == 0) return write_encoded(out, graph.text(id), protocol);
      return put_counted(
          out,
          {SHORT_BINBYTES, BINBYTES, static_cast<std::uint8_t>(protocol >= 4 || form == BINBYTES8 ? BINBYTES8 : 0)},
          graph.text(id), form);
    case ValueKind::bytearray:
      return write_bytearray(out, graph.text(id), form, protocol);
    case ValueKind::py2_str:
      if (form == STRING || protocol == 0) return put_line(out, STRING, quote_string(graph.text(id)));
      return put_counted(out, {SHORT_BINSTRING, BINSTRING, 0}, graph.text(id), form);
    case ValueKind::extension:
      return write_extension(out, graph.integer(id), form);
    default:
      break;
  }
  if (form == GLOBAL) return put_line(out, GLOBAL, std::string(graph.module(id)) + "\n" + std::string(graph.name(id)));
  write_named_global(out, graph, id, spelling);
}

void write_put(std::string& out, std::uint64_t index, int protocol) {
  if (protocol >= 4) return put_op(out, MEMOIZE);
  if (protocol == 0) return put_line(out, PUT, std::to_string(index));
  put_op(out, index <= max_u8 ? BINPUT : LONG_BINPUT);
  index <= max_u8 ? append_le(out, static_cast<std::uint8_t>(index))
                  : append_le(out, static_cast<std::uint32_t>(index));
}

void write_get(std::string& out, std::uint64_t index, int protocol) {
  if (protocol == 0) return put_line(out, GET, std::to_string(index));
  put_op(out, index <= max_u8 ? BINGET : LONG_BINGET);
  index <= max_u8 ? append_le(out, static_cast<std::uint8_t>(index))
                  : append_le(out, static_cast<std::uint32_t>(index));
}

}  // namespace ckpt::pickle
