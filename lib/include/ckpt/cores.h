#pragma once

#include <cstddef>

#include "ckpt/export.h"

namespace ckpt {

/// How many cores this process may keep busy, and so how many threads work is given to: those it is bound to (as
/// taskset sets them), no more than its container's quota pays for (cpu.max of control groups, version 2), and no more
/// than OMP_NUM_THREADS (which torchrun sets to 1 for each of several ranks). At least 1; what it was when it was first
/// asked for.
[[nodiscard]] CKPT_API std::size_t usable_cores();

}  // namespace ckpt
