#pragma once

#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "ckpt/value.h"
#include "pickle/call_policy.h"

namespace ckpt::pickle {

/// Module and name as they stand in the graph, which has them once for each value that is a name.
using NameKey = std::pair<const char*, const char*>;
inline NameKey name_key(const ValueGraph& values, ValueId global) {
  return {values.module(global).data(), values.name(global).data()};
}

/// Whether they are an id of that kind, ('module', class, file, source), spelt in any way that torch takes.
bool begins_with(const ValueGraph& values, std::span<const ValueId> items, std::string_view kind);

/// The class that a value stands for: itself, or of such an id, or PyTorch 0.1's (class, file, source), that.
ValueId class_meant(const ValueGraph& values, ValueId id);

/// Whether an id is one of a storage, as torch writes it: ('storage', …), and in PyTorch 0.1's archives a number.
bool stands_for_storage(const ValueGraph& values, ValueId persistent);

/// What the names of a graph are called for, each looked up once.
class NameRisks {
 public:
  explicit NameRisks(const ValueGraph& values) : values_(values) {}

  /// None of what is no name.
  [[nodiscard]] CallRisk of(ValueId id);

  /// Of a call: its callable, or what copyreg's functions are told to make by it.
  [[nodiscard]] ValueId maker(ValueId object);

 private:
  const ValueGraph& values_;
  std::map<NameKey, CallRisk> risks_;
};

}  // namespace ckpt::pickle
