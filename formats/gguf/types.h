#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ckpt/dtype.h"

namespace ckpt::gguf {

/// How a tensor's numbers are kept (ggml_type in ggml.h): one by one, or in blocks of a scale and few bits each.
struct TensorType {
  std::uint32_t id = 0;
  std::string_view name;
  std::uint32_t block = 1;     ///< elements of a block; 0: removed from ggml, and of no size that is known here
  std::uint32_t bytes = 0;     ///< of a block
  std::optional<DType> dtype;  ///< of those that are kept one by one
};

/// Null for a number that ggml has given to no type yet.
const TensorType* find_type(std::uint32_t id);

}  // namespace ckpt::gguf
