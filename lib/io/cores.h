#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ckpt/cores.h"

namespace ckpt {

/// Cores that a quota pays for, rounded up, from the text of a cgroup's cpu.max ("150000 100000"); none for "max" and
/// for what is no such text.
[[nodiscard]] std::optional<std::size_t> cores_of_quota(const std::string& cpu_max);

/// The first number of OMP_NUM_THREADS ("4", "4,2"); none for anything else.
[[nodiscard]] std::optional<std::size_t> threads_of_omp(const char* variable);

}  // namespace ckpt
