#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

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

/// What a model or a device threw on `device`, as an Error: ours as they are, others with their first line.
[[nodiscard]] std::exception_ptr translated(const std::exception_ptr& error, const std::string& device);

}  // namespace ckpt::eval
