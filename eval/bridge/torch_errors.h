#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ckpt/error.h"

namespace ckpt::eval {

/// An allocation that was refused, by whomever.
struct Shortage {
  std::optional<std::uint64_t> needed;  ///< bytes, where the refusal tells
};

/// None where `error` is something else.
[[nodiscard]] std::optional<Shortage> as_shortage(const std::exception_ptr& error);

/// The bytes that libtorch's words name: "Tried to allocate 2.50 GiB", "you tried to allocate 128 bytes".
[[nodiscard]] std::optional<std::uint64_t> allocation_in(const std::string& words);

/// The line of `words` that says what went wrong: the first, or of a TorchScript's traceback the last.
[[nodiscard]] std::string main_line(std::string_view words);

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
