#pragma once

#include <string>
#include <utility>

#include "ckpt/error.h"

namespace ckpt::eval {

/// What libtorch is throwing, to be called in a catch block, as an Error: out_of_memory where an allocator of its says
/// so, else `otherwise`, with the first line of its message (the rest is a stack of its functions). Rethrows what is
/// neither libtorch's nor of the standard library.
[[nodiscard]] Error caught_torch_error(const std::string& doing, ErrorCode otherwise);

/// Returns work(). What libtorch throws becomes an Error that begins with `doing`.
template <class Work>
auto with_torch(const std::string& doing, Work&& work, ErrorCode otherwise = ErrorCode::unsupported) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error&) {
    throw;
  } catch (...) {
    throw caught_torch_error(doing, otherwise);
  }
}

}  // namespace ckpt::eval
