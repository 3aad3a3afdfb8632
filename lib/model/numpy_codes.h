#pragma once

#include <optional>
#include <string_view>

#include "ckpt/dtype.h"

namespace ckpt {

/// Without the byte order that may stand in front: "f4" of "<f4".
std::string_view without_order(std::string_view code);

/// The element type that numpy writes as "f4", "i8", "b1", "c16" …, without byte order; none where torch has no such.
std::optional<DType> dtype_from_numpy(std::string_view code);

/// "f4" for float32; empty where numpy has no such type.
std::string_view numpy_code(DType dtype);

/// What the codes of numpy that dtype_from_numpy() does not know stand for: "Python objects", "byte strings" …; empty
/// for what is no code of numpy's.
std::string_view foreign_numpy_type(std::string_view code);

}  // namespace ckpt
