#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ckpt/storage.h"
#include "ops/dense_tensor.h"
#include "ops/view_runs.h"

namespace ckpt {

/// A tensor with elements, whose order does not matter.
struct SweptView {
  DenseTensor tensor;
  ViewRuns runs;
};

/// What is done with elements of one view: pieces of them, in the order of the storage, then end() where another view's
/// turn comes, perhaps before all have been seen.
class ViewVisitor {
 public:
  virtual ~ViewVisitor() = default;
  virtual void begin(std::size_t view, std::uint64_t done_bytes) = 0;
  virtual void elements(std::span<const std::byte> bytes) = 0;
  virtual void end() = 0;
};

/// Reads the part of each storage that views lie in once, forward, however many views there are; one whose
/// elements overlap each other is read apart. Each element is given once, not as often as an expanded view shows it,
/// and as it is stored: conjugate and negative views are not resolved. Throws Error: what reading throws, within the
/// view's name.
void sweep(const std::vector<Storage>& storages, std::span<SweptView> views, ViewVisitor& visitor);

}  // namespace ckpt
