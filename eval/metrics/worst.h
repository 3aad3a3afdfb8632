#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "ckpt/eval.h"
#include "datasets/dataset.h"

namespace ckpt::eval {

/// Where in `predictions` the `count` samples of the lowest truth stand, lowest first; those that are not finite before
/// all others, equals in the order of the data.
[[nodiscard]] std::vector<std::size_t> worst(const Predictions& predictions, std::size_t count);

/// Fills in the sizes and pixels of the picture of one sample.
using Draw = std::function<void(const Samples& sample, Picture& picture)>;

/// The worst samples, read again from the data.
[[nodiscard]] std::vector<Picture> worst_pictures(Dataset& data, const Predictions& predictions, std::size_t count,
                                                  const Draw& draw);

}  // namespace ckpt::eval
