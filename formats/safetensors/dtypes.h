#pragma once

#include <cstddef>
#include <string_view>

#include "ckpt/dtype.h"

/// The dtypes of safetensors 0.8 (Dtype in its tensor.rs; safetensors.torch says which of torch's each is).
namespace ckpt::safetensors {

struct ElementType {
  std::string_view name;  ///< "F32"
  DType dtype;            ///< meaningless where `in_torch` is false
  std::size_t bits;       ///< of one element as the header counts them
  bool in_torch = true;
};

/// Whether the header counts two elements where torch has one packed byte: F4.
[[nodiscard]] constexpr bool is_packed(const ElementType& type) { return type.bits == 4; }

/// Null for a name that safetensors has not.
const ElementType* find_type(std::string_view name);
/// Null for a dtype that safetensors has not.
const ElementType* find_type(DType dtype);

/// Where the type stands in the order of the library's enum: tensors are written from the last to the first.
std::size_t rank_of(const ElementType& type);

}  // namespace ckpt::safetensors
