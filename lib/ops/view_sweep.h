#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/storage.h"
#include "ops/dense_tensor.h"
#include "ops/view_runs.h"

namespace ckpt {

/// A tensor with elements, whose order does not matter.
struct SweptView {
  DenseTensor tensor;
  ViewRuns runs;
};

/// What is done with elements of views. A view is begun and ended as often as a stretch of its storage is read; each
/// time, what its elements come to is kept until join() adds it to what all visitors share.
class ViewVisitor {
 public:
  virtual ~ViewVisitor() = default;
  /// `done_bytes`: of its elements, in the order of the storage, before those that follow.
  virtual void begin(std::size_t view, std::uint64_t done_bytes) = 0;
  /// Some of its elements, in the order of the storage, `distance` bytes from the view's first one; those of a view
  /// that overlaps in the order of their indices, so far into that.
  virtual void elements(std::span<const std::byte> bytes, std::uint64_t distance) = 0;
  virtual void end() = 0;
  /// One visitor at a time, in the order of the stretches, whatever the number of threads.
  virtual void join() = 0;
};

struct SweepOptions {
  std::size_t threads = 1;
  /// Given what reading a storage threw, in order, at most once a storage; none: it is thrown, and all ends.
  std::function<void(const Error&)> on_error;
  std::uint64_t steps = limits::sweep_steps;  ///< tests give fewer
};

/// Reads the part of each storage that views lie in once, forward, however many views there are; one whose
/// elements overlap each other is read apart. Each element is given once, not as often as an expanded view shows it,
/// and as it is stored: conjugate and negative views are not resolved. Several visitors are made, a few a thread.
/// Throws Error: what reading throws, within the view's name; limit_exceeded.
void sweep(const std::vector<Storage>& storages, std::span<const SweptView> views,
           const std::function<std::unique_ptr<ViewVisitor>()>& make_visitor, const SweepOptions& options);

}  // namespace ckpt
