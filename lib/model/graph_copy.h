#pragma once

#include <span>
#include <vector>

#include "ckpt/value.h"

namespace ckpt {

/// Adds to `to` what `from` has at `id`, its operands as `moved` renames them; without effects and time.
ValueId copy_value(const ValueGraph& from, ValueId id, ValueGraph& to, std::span<const ValueId> moved);

/// Copies parts of one graph into others. What is copied costs its own size, however large the graph is.
///
///     GraphCopy copy(checkpoint.values);
///     const ValueId root = copy.below(leaf, part.values);
class GraphCopy {
 public:
  /// `from` must outlive the copy and may not change.
  explicit GraphCopy(const ValueGraph& from);

  /// Copies `root`, and `more` roots, and all that they reach, to the end of `to`. Everything in it happens later than
  /// `base`: the latest of what `to` has, where both are to be written as one program. Throws Error (limit_exceeded).
  ValueId below(ValueId root, ValueGraph& to, Time base = 0, std::span<const ValueId> more = {});

  /// Of the last copy: what it reached, oldest first; where a value went, no_value if it did not; its latest time.
  [[nodiscard]] std::span<const ValueId> reached() const { return reached_; }
  [[nodiscard]] ValueId moved(ValueId id) const { return moved_[id]; }
  [[nodiscard]] Time latest() const { return latest_; }

 private:
  void reach(ValueId root, std::span<const ValueId> more);
  Time later(Time time, Time base);

  const ValueGraph& from_;
  std::vector<ValueId> moved_, reached_;
  Time latest_ = 0;
};

}  // namespace ckpt
