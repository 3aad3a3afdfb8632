#pragma once

#include <string_view>

#include "ckpt/checkpoint.h"

namespace ckpt {

/// torch.nn.Parameter and its like: calls around the call that builds a tensor, which is their first argument.
bool is_tensor_wrapper(std::string_view module, std::string_view name);

/// How the graph says what a tensor looks at.
struct TensorPlace {
  enum class Form : std::uint8_t {
    tuple,     ///< REDUCE of one of torch._utils' functions: its arguments begin with storage, offset, size, stride
    subclass,  ///< torch._tensor._rebuild_from_type_v2(function, type, such arguments, state)
    other,     ///< in the ways of torch before 0.4, or of other writers: a plain call can stand for it
  };
  ValueId storage = no_value;  ///< the persistent value that the call is given
  ValueId inner = no_value;    ///< else the tensor that the call is around: a Parameter's, or one put on a device
  Form form = Form::other;
};

/// Of the call that builds a tensor. Neither storage nor inner: it looks at no storage, or in an unknown way.
TensorPlace tensor_place(const Checkpoint& checkpoint, ValueId call);

}  // namespace ckpt
