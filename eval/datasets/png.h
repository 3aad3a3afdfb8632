#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "datasets/pixels.h"

namespace ckpt::eval {

/// The picture in `file`, the bytes of a PNG: any colour type and depth, interlaced or not; the first of an animation.
/// Modes are those that Pillow gives it: 16 bits a channel become 8 (the high ones) but for greyscale without alpha;
/// gamma, colour profiles and transparent colours are passed over.
///
/// `name` is what errors call the file. Any bytes may come: memory is allocated for as many pixels as they can
/// hold, and limits::picture_pixels at most. Thread-safe.
/// Throws Error: unsupported (no PNG), truncated, corrupt (a bad CRC, too), limit_exceeded.
Pixels decode_png(std::span<const std::byte> file, const std::string& name);

}  // namespace ckpt::eval
