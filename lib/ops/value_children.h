#pragma once

#include <span>
#include <string>
#include <vector>

#include "ckpt/value.h"
#include "io/keyed_hash.h"
#include "ops/value_view.h"

namespace ckpt {

/// Collects the children of one view. The first letter of `match` is the kind: k a key (of a mapping or set), p a
/// position, r an argument, w an attribute, v one of a slot, y a keyword, s a state.
class ChildCollector {
 public:
  ChildCollector(const ValueGraph& values, std::vector<ViewChild>& children) : values_(values), children_(children) {}

  void add(const char* kind, std::string label, ValueId value) {
    children_.push_back({kind + label, std::move(label), value, no_value});
  }

  void add_positions(std::span<const ValueId> items);
  void add_arguments(std::span<const ValueId> items);
  void add_members(std::span<const ValueId> items);
  void add_mapping(ValueId mapping);
  /// What a call is given by name. A name given again has its last value.
  void add_keywords(ValueId mapping) { add_entries("y", mapping); }
  /// What BUILD is given: attributes, or (attributes or None, slots), as copyreg has it; else one child.
  void add_state(ValueId state);
  /// What was done to the value after it was made. `keys_are_in`: SETITEM's have been added.
  void add_effects(ValueId id, bool keys_are_in);

 private:
  void add_entry(const std::string& kind, ValueId key, ValueId value);
  void add_entries(const std::string& kind, ValueId mapping);
  const ValueGraph& values_;
  std::vector<ViewChild>& children_;
  NameMap<std::size_t> named_;     ///< keys and attributes, by match
  NameMap<std::size_t> repeated_;  ///< keys that only what they hold tells apart
  std::size_t states_ = 0;
};

}  // namespace ckpt
