#pragma once

#include <string_view>
#include <vector>

#include "ckpt/state_dict.h"
#include "ckpt/value.h"

namespace ckpt::dcp {

/// The name of the class that a call would make an object of; empty for any other value, and for classes of others
/// than torch.distributed.
std::string_view class_of(const ValueGraph& values, ValueId id);

/// The state that BUILD gives an object; no_value where it is given none.
ValueId state_of(const ValueGraph& values, ValueId id);

/// An object's attributes by name, as its BUILD sets them.
class Record {
 public:
  Record(const ValueGraph& values, ValueId id);

  /// no_value where it is missing or None.
  [[nodiscard]] ValueId at(std::string_view name) const;
  /// Throws Error (corrupt) unless it is a string, or an integer of 0 or more.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  [[nodiscard]] std::uint64_t number(std::string_view name) const;

 private:
  [[noreturn]] void fail(std::string_view name, std::string_view expected) const;

  const ValueGraph& values_;
  ValueId id_;
  std::vector<MappingEntry> entries_;
};

}  // namespace ckpt::dcp
