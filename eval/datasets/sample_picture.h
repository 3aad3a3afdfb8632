#pragma once

#include <cstdint>

#include "datasets/dataset.h"
#include "datasets/pixels.h"

namespace ckpt::eval {

/// A sample as a picture of mode grey or rgb, to be looked at. What a model of text takes is (C, W, H); other inputs of
/// two or three dimensions are rows, (H, W) or (C, H, W); any other is laid out in a square, row by row. float32 is
/// drawn as it is where all of it lies in [0, 1], else from its least to its greatest value; what is not finite is
/// black.
///
/// `index`: the sample's place in `samples`, which were read for `signature`.
Pixels to_pixels(const Samples& samples, std::uint64_t index, const Signature& signature);

}  // namespace ckpt::eval
