#pragma once

#include <cstddef>

#include "datasets/pixels.h"

namespace ckpt::eval {

/// What Pillow's `Image.resize((width, height))` makes of the picture: nearest neighbours for modes bilevel and
/// palette, else bicubic, with alpha multiplied in meanwhile. Equal to Pillow 13's to the last bit, on x86-64.
Pixels resized(const Pixels& from, std::size_t width, std::size_t height);

}  // namespace ckpt::eval
