#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "ckpt/value.h"

namespace ckpt::pickle {

/// How instructions are spelt: the protocol, and whether each value keeps the opcode it had in its source.
struct Spelling {
  int protocol = 2;
  int source_protocol = 2;  ///< names in the graph are Python 2's where this is below 3
  bool keep_forms = true;

  /// The value's own opcode where it stays, else 0.
  [[nodiscard]] std::uint8_t form(std::uint8_t source_form) const { return keep_forms ? source_form : 0; }
};

/// Appends a value that has no operands: a literal, a global by name, an extension code.
/// Throws Error: unsupported (a name that the protocol cannot say), limit_exceeded.
void write_atom(std::string& out, const ValueGraph& graph, ValueId id, const Spelling& spelling);

/// A global's module and name as the protocol has them. Throws Error: unsupported (a name that it cannot say).
std::pair<std::string, std::string> spelt_name(const ValueGraph& graph, ValueId id, const Spelling& spelling);

/// Appends a GLOBAL of a Python-3 name (Python 2's for protocols below 3).
void write_global(std::string& out, std::string_view module, std::string_view name, int protocol);

/// Appends a str.
void write_str(std::string& out, std::string_view utf8, std::uint8_t form, int protocol);

void write_put(std::string& out, std::uint64_t index, int protocol);
void write_get(std::string& out, std::uint64_t index, int protocol);

}  // namespace ckpt::pickle
