#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/value.h"

namespace ckpt {

/// Of the values that a pickle makes and throws away (Checkpoint::discarded), those that are or hold calls which may
/// have changed something: an object's state is set so where its class says how (the sixth item of __reduce__), and
/// with parts of a checkpoint these have to go along.
class DroppedCalls {
 public:
  /// Costs nothing where none is `discarded`. Calls that `root` leads to are not among them.
  DroppedCalls(const ValueGraph& values, ValueId root, std::span<const ValueId> discarded);

  /// Those that may have changed one of `held`, all that something leads to, or what such a one leads to; in order.
  [[nodiscard]] std::vector<ValueId> that_change(std::span<const ValueId> held) const;

 private:
  static constexpr std::uint32_t no_group = static_cast<std::uint32_t>(-1);

  void add(const ValueGraph& values, ValueId dropped, const std::vector<bool>& inert);
  std::uint32_t group_of(std::uint32_t dropped);

  std::vector<ValueId> discarded_;     ///< that hold such calls
  std::vector<std::uint32_t> joined_;  ///< by place in those: another that may change something of the same, or itself
  std::vector<std::uint32_t> owner_;   ///< by value: a group of such that lead to it, and may change it
  std::vector<std::vector<std::uint32_t>> groups_;  ///< places in discarded_, by the first of each group
};

}  // namespace ckpt
