#pragma once

#include <cstdint>
#include <string>

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::dcp {

/// Work that a checkpoint may ask for. Lists and paths in a pickle may be shared, so that a few bytes ask for it again
/// and again.
class Steps {
 public:
  explicit Steps(std::uint64_t items) : most_(limits::dcp_step_cap(items)), left_(most_) {}

  /// Throws Error (limit_exceeded).
  void spend(std::uint64_t steps) {
    if (steps > left_)
      throw Error(ErrorCode::limit_exceeded,
                  "chunks, paths and places of lists come to more than " + std::to_string(most_) + " steps");
    left_ -= steps;
  }

 private:
  std::uint64_t most_, left_;
};

}  // namespace ckpt::dcp
