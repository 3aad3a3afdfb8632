#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "ckpt/value.h"

namespace ckpt {

/// Of the values that a pickle makes and throws away (Checkpoint::discarded), those whose making may have changed
/// something: an object's state is set so where its class says how (the sixth item of __reduce__), and with parts of a
/// checkpoint these have to go along.
class DroppedCalls {
 public:
  /// Costs nothing where there are none. `values` must outlive this, and may not change; `file` is named in errors.
  DroppedCalls(const ValueGraph& values, std::vector<ValueId> discarded, std::string file);

  /// Those that may have changed one of `held`, all that something reaches, or what such a one leads to; in order.
  /// Throws Error (limit_exceeded): asked again and again, in a file whose values hold each other too often.
  [[nodiscard]] std::vector<ValueId> that_change(std::span<const ValueId> held);

 private:
  void count_step();

  const ValueGraph& values_;
  std::vector<ValueId> discarded_;
  std::unordered_set<ValueId> is_discarded_;
  std::string file_;
  std::vector<std::uint32_t> begin_;  ///< of each value in holders_
  std::vector<ValueId> holders_;      ///< what each value is an operand of, one list behind the other
  std::uint64_t steps_ = 0;
};

}  // namespace ckpt
