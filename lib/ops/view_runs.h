#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
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

  /// The first address from `address` on that an element lies at, or in; none at the end. Not for one that overlaps.
  [[nodiscard]] std::optional<std::uint64_t> next_at(std::uint64_t address) const;

  /// Calls use(address, size, done) for what lies between the addresses `first` and `last`, in order. `done`: bytes of
  /// the view before. Not for one that overlaps.
  template <class Use>
  void within(std::uint64_t first, std::uint64_t last, Use&& use) const {
    for (Place place = find(first); place.left > 0 && place.at < last; step(place)) {
      const std::uint64_t size = std::min(place.left, last - place.at);
      use(place.at, size, place.done);
      if (size < place.left) return;
      place.done += size;
    }
  }

 private:
  struct Axis {
    std::uint64_t size, step;  ///< a step's length in bytes
  };

  struct Place {
    std::vector<std::uint64_t> index;  ///< of the run, an axis each
    std::uint64_t run = 0, at = 0, left = 0,
                  done = 0;  ///< the run's address; what is left of it, or nothing at the end
  };

  /// The first bytes at or behind the address.
  [[nodiscard]] Place find(std::uint64_t address) const;
  /// To the next run.
  void step(Place& place) const;

  std::vector<Axis> axes_;  ///< outside a run, the longest step first
  std::uint64_t begin_ = 0, end_ = 0, run_ = 0, repeats_ = 1;
  bool overlaps_ = false;
};

}  // namespace ckpt
