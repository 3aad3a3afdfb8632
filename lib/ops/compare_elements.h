#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "ckpt/diff.h"
#include "ops/compare_values.h"
#include "ops/dense_tensor.h"

namespace ckpt {

struct DiffSide;

/// Two tensors of one shape, each in a storage of its side.
struct ElementPair {
  std::size_t number = 0;  ///< the caller's
  std::string_view name;   ///< in errors
  TensorInfo info_a, info_b;
  DenseTensor a, b;
};

struct ComparedSides {
  const DiffSide& a;
  const DiffSide& b;
  ValueRules rules;
  std::size_t threads = 1;
};

/// Compares the elements of the pairs that `next` gives until it gives none, several at a time and large ones in parts;
/// what comes of it does not depend on the threads. Each side's storages are read forward where the pairs come in their
/// order. `found` is given the pairs that differ, in order. Throws Error: what reading throws, naming tensor and file.
void compare_elements(const ComparedSides& sides, const std::function<std::optional<ElementPair>()>& next,
                      const std::function<void(std::size_t number, const ValueDifference&)>& found);

}  // namespace ckpt
