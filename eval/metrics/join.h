#pragma once

#include <optional>
#include <string>

#include "ckpt/eval.h"

namespace ckpt::eval {

/// What two results differ in that would have to be alike in parts of one: "models", and as either has it.
struct Difference {
  std::string what, one, other;
};

/// The first; none where they may be parts of one result. Tells data sets apart by their size and fingerprint.
[[nodiscard]] std::optional<Difference> difference(const Result& one, const Result& other);

/// Adds the result of the samples that follow in the same data. Counts, predictions, outputs and the data's digest add
/// up, what both warn of stays once, and of phases and memory the greater ones. Throws Error (corrupt: a digest that is
/// none).
void join(Result& whole, const Result& next);

}  // namespace ckpt::eval
