#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ckpt/export.h"

namespace ckpt {

/// A shape, a stride or an index as Python writes a list of integers: "[64, 3, 7, 7]".
CKPT_API std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace ckpt
