#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace ckpt {

/// A part of an operation that several threads share.
class WorkPiece {
 public:
  virtual ~WorkPiece() = default;
  /// What can be done beside other pieces, by any thread.
  virtual void work() = 0;
  /// Adds what came of it to the whole: one piece at a time, in the order in which they were made, so that the whole
  /// does not depend on the number of threads.
  virtual void join() = 0;
};

/// Makes the next piece, of one that has been joined where there is one (its buffers are used again); none at the end.
/// Called by one thread at a time.
using NextPiece = std::function<std::unique_ptr<WorkPiece>(std::unique_ptr<WorkPiece> used)>;

/// Does all pieces, on `threads` threads at most and never more than 256, this one among them. Only a few are held at a
/// time. Throws what the first piece in order threw that threw anything; later ones are not joined then.
void work_in_order(std::size_t threads, const NextPiece& next);

/// As many as may work, and as pieces of some hundred KiB may be held for.
std::size_t working_threads();

}  // namespace ckpt
