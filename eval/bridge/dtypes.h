#pragma once

#include <c10/core/ScalarType.h>

#include <optional>

#include "ckpt/dtype.h"

namespace ckpt::eval {

/// libtorch's name for it; none where this libtorch has none.
std::optional<c10::ScalarType> scalar_type(DType dtype);
std::optional<DType> dtype_of(c10::ScalarType type);

}  // namespace ckpt::eval
