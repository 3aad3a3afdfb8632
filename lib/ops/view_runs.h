#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ckpt/storage.h"
#include "ckpt/tensor.h"

namespace ckpt {

/// Where in its storage the elements of a view lie, as runs of bytes in the storage's order: for whom the order of the
/// elements does not matter. A transposed tensor is one run.
class ViewRuns {
 public:
  /// `placed`: as it lies in the whole storage, with one element at least. Throws Error (corrupt): it leaves the
  /// storage.
  ViewRuns(const Storage& storage, const TensorInfo& placed);

  /// How often the view shows each of its elements (an expanded one).
  [[nodiscard]] std::uint64_t repeats() const { return repeats_; }
  /// Whether elements at different indices may share bytes: then there are no runs, only begin() and end().
  [[nodiscard]] bool overlaps() const { return overlaps_; }
  /// Bytes of the storage that it lies in.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }

  void rewind();
  /// Calls use(address, size) for what lies before `address` and was not given since rewind(), in order.
  template <class Use>
  void until(std::uint64_t address, Use&& use) {
    while (left_ > 0 && at_ < address) {
      const std::uint64_t size = std::min(left_, address - at_);
      use(at_, size);
      at_ += size;
      left_ -= size;
      if (left_ == 0) next_run();
    }
  }

 private:
  struct Axis {
    std::uint64_t size, step, index;  ///< a step's length in bytes
  };

  void next_run();

  std::vector<Axis> axes_;  ///< outside a run, the longest step first
  std::uint64_t begin_ = 0, end_ = 0, run_ = 0, repeats_ = 1;
  bool overlaps_ = false;
  std::uint64_t run_begin_ = 0, at_ = 0, left_ = 0;  ///< of the next run; none where nothing is left of it
};

}  // namespace ckpt
