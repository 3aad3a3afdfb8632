#pragma once

#include <cstdint>
#include <vector>

#include "ckpt/eval.h"

namespace ckpt::eval {

struct Tally {
  std::uint64_t correct = 0, samples = 0;
  /// NaN where there are no samples.
  [[nodiscard]] double accuracy() const;
};

/// The counts of samples of which that was said.
[[nodiscard]] Counts counts_of(const Signature& signature, const Predictions& predictions);

/// How many labels a position got right. Samples that are not finite count, as wrong.
[[nodiscard]] std::vector<Tally> per_position(const Signature& signature, const Counts& counts);

/// How many labels of a class were read as it, over all positions. Samples that are not finite do not count: nothing is
/// known of their labels.
[[nodiscard]] std::vector<Tally> per_class(const Signature& signature, const Counts& counts);

/// [classes, classes]: the confusion over all positions.
[[nodiscard]] std::vector<std::uint64_t> summed_confusion(const Signature& signature, const Counts& counts);

}  // namespace ckpt::eval
