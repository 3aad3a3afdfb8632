#pragma once

#include <cstdint>
#include <vector>

namespace ckpt::eval {

/// What Winograd's F(4×4, 3×3) does before and after its products (winograd.h), for one instruction set. A tile is 4×4
/// pixels of the output, which depend on 6×6 of the input; between the transforms it has 36 elements. A pixel is a row
/// of channels, a multiple of 8 of them. Nothing needs alignment.
struct WinogradTransforms {
  const char* name;  ///< the instruction set, or "portable"

  /// The 6×6 pixels of a tile, row by row, to its 36 elements, which are `stride` floats apart.
  void (*input)(const float* const* pixels, std::int64_t channels, float* elements, std::int64_t stride);

  /// 36 elements, `stride` floats apart, to the tile's 4×4 pixels: max(0, pixel + bias + added).
  void (*output)(const float* elements, std::int64_t stride, std::int64_t channels, const float* bias,
                 const float* const* added, float* const* pixels);
};

/// What this CPU can run, the fastest first. The portable ones are always there, and last.
std::vector<WinogradTransforms> winograd_transforms();

}  // namespace ckpt::eval
