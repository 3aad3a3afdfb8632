#include "formats/python.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/bytes.h"
#include "pickle/opcodes.h"

namespace ckpt::py {
namespace {

using namespace pickle;

Code op(std::uint8_t code) { return Code(1, static_cast<char>(code)); }

template <class T>
Code le(T value) {
  Code out;
  append_le(out, value);
  return out;
}

Code joined(const std::vector<Code>& parts) {
  Code out;
  for (const Code& part : parts) out += part;
  return out;
}

}  // namespace

Code none() { return op(NONE); }
Code boolean(bool value) { return op(value ? NEWTRUE : NEWFALSE); }

Code integer(std::int64_t value) {
  if (value >= 0 && value < 256) return op(BININT1) + op(static_cast<std::uint8_t>(value));
  if (value >= INT32_MIN && value <= INT32_MAX) return op(BININT) + le(static_cast<std::int32_t>(value));
  return op(LONG1) + op(8) + le(value);
}

Code real(double value) {
  Code big = le(value);
  std::reverse(big.begin(), big.end());
  return op(BINFLOAT) + big;
}

Code str(std::string_view utf8) {
  return op(BINUNICODE) + le(static_cast<std::uint32_t>(utf8.size())) + std::string(utf8);
}

Code py2_str(std::string_view bytes) {
  return op(BINSTRING) + le(static_cast<std::int32_t>(bytes.size())) + std::string(bytes);
}

Code bytes(std::string_view bytes) {
  return op(BINBYTES) + le(static_cast<std::uint32_t>(bytes.size())) + std::string(bytes);
}

Code list(const std::vector<Code>& items) {
  return op(EMPTY_LIST) + (items.empty() ? Code() : op(MARK) + joined(items) + op(APPENDS));
}

Code tuple(const std::vector<Code>& items) { return op(MARK) + joined(items) + op(TUPLE); }

Code set_items(const Pairs& pairs) {
  if (pairs.empty()) return {};
  Code out = op(MARK);
  for (const auto& [key, value] : pairs) out += key + value;
  return out + op(SETITEMS);
}

Code dict(const Pairs& pairs) { return op(EMPTY_DICT) + set_items(pairs); }

Code ordered_dict(const Pairs& pairs) { return call(global("collections", "OrderedDict"), {}) + set_items(pairs); }

Code global(std::string_view module, std::string_view name) {
  return op(GLOBAL) + std::string(module) + '\n' + std::string(name) + '\n';
}

Code call(const Code& callable, const std::vector<Code>& arguments) { return callable + tuple(arguments) + op(REDUCE); }
Code build(const Code& object, const Code& state) { return object + state + op(BUILD); }
Code persistent(const Code& id) { return id + op(BINPERSID); }
Code put(const Code& value, std::uint8_t index) { return value + op(BINPUT) + op(index); }
Code get(std::uint8_t index) { return op(BINGET) + op(index); }
Code pickle(const Code& value, std::uint8_t protocol) { return op(PROTO) + op(protocol) + value + op(STOP); }

TEST(PythonPickles, AreWhatPythonWrites) {
  EXPECT_EQ(pickle(dict({{str("a"), integer(1)}})), std::string("\x80\x02}(X\1\0\0\0aK\1u.", 14));
}

}  // namespace ckpt::py
