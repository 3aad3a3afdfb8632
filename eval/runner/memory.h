#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace ckpt::eval {

/// Bytes that can still be allocated: of what the machine has, the process's own limit (ulimit -v) and its control
/// group's, the least. None where nothing tells.
[[nodiscard]] std::optional<std::uint64_t> free_host_memory();

/// Likewise of `device`, whatever it is.
[[nodiscard]] std::optional<std::uint64_t> free_memory(at::Device device);

/// Gives what libtorch, or on the CPU malloc, keeps for later back to `device`.
void release_cached_memory(at::Device device);

/// The most bytes that libtorch has held on `device`; 0 on the CPU.
[[nodiscard]] std::uint64_t peak_memory(at::Device device);

}  // namespace ckpt::eval
