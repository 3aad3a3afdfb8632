#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/storage_window.h"

namespace ckpt {

/// A dimension: how many steps, how far one goes in the storage and in what is gathered, in bytes.
struct GatherAxis {
  std::uint64_t size = 1;
  std::uint64_t step = 0;
  std::uint64_t place = 0;
};

/// Long steps outside, short ones inside; steps of 0 outermost of all, so that what repeats is copied in long runs.
/// Bytes that lie side by side in both are one run, which is returned, and its axes taken away.
std::uint64_t sort_for_gathering(std::vector<GatherAxis>& axes, std::uint64_t item);

/// Fills `out` from the box of `axes`, which are sorted and made of runs, at `base`, going through the storage forward.
void gather(StorageWindow& window, std::uint64_t base, const std::vector<GatherAxis>& axes, std::uint64_t run,
            std::span<std::byte> out);

/// Whether the two innermost axes are a matrix that is turned: what lies side by side in the storage lies apart in what
/// is gathered, and the other way round.
bool is_transpose(const std::vector<GatherAxis>& axes, std::uint64_t run);

}  // namespace ckpt
