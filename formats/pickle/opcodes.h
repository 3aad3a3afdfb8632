#pragma once
// A table: every opcode of pickle protocols 0 to 5 (CPython's Lib/pickletools.py documents each).

#include <array>
#include <cstdint>
#include <string_view>

namespace ckpt::pickle {

/// What follows the opcode byte.
enum class Operand : std::uint8_t {
  none,
  line,       ///< text up to a newline
  two_lines,  ///< module, newline, name, newline
  u8,
  u16,
  i32,
  u32,
  u64,
  f64,  ///< f64 is big-endian, the rest little-endian
  bytes_u8,
  bytes_u32,
  bytes_u64,
  bytes_i32,  ///< a length of that type, then so many bytes
};

enum Opcode : std::uint8_t {
  MARK = '(',
  STOP = '.',
  POP = '0',
  POP_MARK = '1',
  DUP = '2',
  FLOAT = 'F',
  INT = 'I',
  BININT = 'J',
  BININT1 = 'K',
  LONG = 'L',
  BININT2 = 'M',
  NONE = 'N',
  PERSID = 'P',
  BINPERSID = 'Q',
  REDUCE = 'R',
  STRING = 'S',
  BINSTRING = 'T',
  SHORT_BINSTRING = 'U',
  UNICODE = 'V',
  BINUNICODE = 'X',
  APPEND = 'a',
  BUILD = 'b',
  GLOBAL = 'c',
  DICT = 'd',
  EMPTY_DICT = '}',
  APPENDS = 'e',
  GET = 'g',
  BINGET = 'h',
  INST = 'i',
  LONG_BINGET = 'j',
  LIST = 'l',
  EMPTY_LIST = ']',
  OBJ = 'o',
  PUT = 'p',
  BINPUT = 'q',
  LONG_BINPUT = 'r',
  SETITEM = 's',
  TUPLE = 't',
  EMPTY_TUPLE = ')',
  SETITEMS = 'u',
  BINFLOAT = 'G',
  PROTO = 0x80,
  NEWOBJ,
  EXT1,
  EXT2,
  EXT4,
  TUPLE1,
  TUPLE2,
  TUPLE3,
  NEWTRUE,
  NEWFALSE,
  LONG1,
  LONG4,
  BINBYTES = 'B',
  SHORT_BINBYTES = 'C',
  SHORT_BINUNICODE = 0x8c,
  BINUNICODE8,
  BINBYTES8,
  EMPTY_SET,
  ADDITEMS,
  FROZENSET,
  NEWOBJ_EX,
  STACK_GLOBAL,
  MEMOIZE,
  FRAME,
  BYTEARRAY8 = 0x96,
  NEXT_BUFFER,
  READONLY_BUFFER,
};

struct OpcodeInfo {
  std::uint8_t code = 0;
  std::string_view name;  ///< empty: no such opcode
  Operand operand = Operand::none;
  int protocol = 0;  ///< the first that has it
};

inline constexpr OpcodeInfo opcode_list[] = {
    {MARK, "MARK", Operand::none, 0},
    {STOP, "STOP", Operand::none, 0},
    {POP, "POP", Operand::none, 0},
    {POP_MARK, "POP_MARK", Operand::none, 1},
    {DUP, "DUP", Operand::none, 0},
    {FLOAT, "FLOAT", Operand::line, 0},
    {INT, "INT", Operand::line, 0},
    {BININT, "BININT", Operand::i32, 1},
    {BININT1, "BININT1", Operand::u8, 1},
    {LONG, "LONG", Operand::line, 0},
    {BININT2, "BININT2", Operand::u16, 1},
    {NONE, "NONE", Operand::none, 0},
    {PERSID, "PERSID", Operand::line, 0},
    {BINPERSID, "BINPERSID", Operand::none, 1},
    {REDUCE, "REDUCE", Operand::none, 0},
    {STRING, "STRING", Operand::line, 0},
    {BINSTRING, "BINSTRING", Operand::bytes_i32, 1},
    {SHORT_BINSTRING, "SHORT_BINSTRING", Operand::bytes_u8, 1},
    {UNICODE, "UNICODE", Operand::line, 0},
    {BINUNICODE, "BINUNICODE", Operand::bytes_u32, 1},
    {APPEND, "APPEND", Operand::none, 0},
    {BUILD, "BUILD", Operand::none, 0},
    {GLOBAL, "GLOBAL", Operand::two_lines, 0},
    {DICT, "DICT", Operand::none, 0},
    {EMPTY_DICT, "EMPTY_DICT", Operand::none, 1},
    {APPENDS, "APPENDS", Operand::none, 1},
    {GET, "GET", Operand::line, 0},
    {BINGET, "BINGET", Operand::u8, 1},
    {INST, "INST", Operand::two_lines, 0},
    {LONG_BINGET, "LONG_BINGET", Operand::u32, 1},
    {LIST, "LIST", Operand::none, 0},
    {EMPTY_LIST, "EMPTY_LIST", Operand::none, 1},
    {OBJ, "OBJ", Operand::none, 1},
    {PUT, "PUT", Operand::line, 0},
    {BINPUT, "BINPUT", Operand::u8, 1},
    {LONG_BINPUT, "LONG_BINPUT", Operand::u32, 1},
    {SETITEM, "SETITEM", Operand::none, 0},
    {TUPLE, "TUPLE", Operand::none, 0},
    {EMPTY_TUPLE, "EMPTY_TUPLE", Operand::none, 1},
    {SETITEMS, "SETITEMS", Operand::none, 1},
    {BINFLOAT, "BINFLOAT", Operand::f64, 1},
    {PROTO, "PROTO", Operand::u8, 2},
    {NEWOBJ, "NEWOBJ", Operand::none, 2},
    {EXT1, "EXT1", Operand::u8, 2},
    {EXT2, "EXT2", Operand::u16, 2},
    {EXT4, "EXT4", Operand::i32, 2},
    {TUPLE1, "TUPLE1", Operand::none, 2},
    {TUPLE2, "TUPLE2", Operand::none, 2},
    {TUPLE3, "TUPLE3", Operand::none, 2},
    {NEWTRUE, "NEWTRUE", Operand::none, 2},
    {NEWFALSE, "NEWFALSE", Operand::none, 2},
    {LONG1, "LONG1", Operand::bytes_u8, 2},
    {LONG4, "LONG4", Operand::bytes_i32, 2},
    {BINBYTES, "BINBYTES", Operand::bytes_u32, 3},
    {SHORT_BINBYTES, "SHORT_BINBYTES", Operand::bytes_u8, 3},
    {SHORT_BINUNICODE, "SHORT_BINUNICODE", Operand::bytes_u8, 4},
    {BINUNICODE8, "BINUNICODE8", Operand::bytes_u64, 4},
    {BINBYTES8, "BINBYTES8", Operand::bytes_u64, 4},
    {EMPTY_SET, "EMPTY_SET", Operand::none, 4},
    {ADDITEMS, "ADDITEMS", Operand::none, 4},
    {FROZENSET, "FROZENSET", Operand::none, 4},
    {NEWOBJ_EX, "NEWOBJ_EX", Operand::none, 4},
    {STACK_GLOBAL, "STACK_GLOBAL", Operand::none, 4},
    {MEMOIZE, "MEMOIZE", Operand::none, 4},
    {FRAME, "FRAME", Operand::u64, 4},
    {BYTEARRAY8, "BYTEARRAY8", Operand::bytes_u64, 5},
    {NEXT_BUFFER, "NEXT_BUFFER", Operand::none, 5},
    {READONLY_BUFFER, "READONLY_BUFFER", Operand::none, 5},
};

inline constexpr std::array<OpcodeInfo, 256> opcode_table = [] {
  std::array<OpcodeInfo, 256> table{};
  for (const OpcodeInfo& info : opcode_list) table[info.code] = info;
  return table;
}();

/// Whether `code` makes a value of which Python has only one: None, True, False, an integer up to 255, the empty tuple.
constexpr bool makes_single(std::uint8_t code) {
  return code == NONE || code == NEWTRUE || code == NEWFALSE || code == BININT1 || code == EMPTY_TUPLE;
}

}  // namespace ckpt::pickle
