#pragma once

#include <cstdint>
#include <string>

/// What the operating system knows of this process and its machine.
namespace ckpt::eval {

/// Bytes of memory that this process has held, at most.
[[nodiscard]] std::uint64_t host_peak();

/// Seconds since the kernel started this process, to a hundredth; 0 where it does not say.
[[nodiscard]] double seconds_since_start();

/// "AMD EPYC 7B13"
[[nodiscard]] std::string processor_text();

}  // namespace ckpt::eval
