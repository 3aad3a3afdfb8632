#pragma once

#include <cstdint>
#include <vector>

#include "ckpt/dtype.h"
#include "ckpt/eval.h"
#include "ckpt/tensor_reader.h"
#include "datasets/shape.h"

namespace ckpt::eval {

/// How the numbers of a sample's target tell its classes.
enum class TargetKind {
  classes,  ///< an integer a position
  one_hot,  ///< a number a class and position; in each position the greatest decides, the first of equal ones
};

/// What targets of that dtype, and that shape for one sample, are to a model. Throws Error (unsupported), naming both.
TargetKind target_kind(DType dtype, const Shape& shape, const Signature& signature);

/// Throws Error (unsupported) where `label` is no class of the model. `sample`: its index in the data.
void check_label(std::int64_t label, std::uint64_t sample, const Signature& signature);

/// All classes, [rows, positions]. `shape`: of one row; `first`: the index of the first row's sample, for messages.
/// Throws Error: what target_kind(), check_label() and reading throw, limit_exceeded, corrupt (NaN in a one-hot
/// target).
std::vector<std::int32_t> read_targets(const TensorReader& reader, DType dtype, const Shape& shape,
                                       const Signature& signature, std::uint64_t first);

}  // namespace ckpt::eval
