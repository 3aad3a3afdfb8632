#pragma once

#include <string>

#include "ckpt/eval.h"

namespace ckpt::eval {

/// A picture as a PNG in a `data:` URI; empty where it is wider or higher than libpng takes. Throws Error (unsupported)
/// where its sizes do not fit its pixels.
[[nodiscard]] std::string png_uri(const Picture& picture);

}  // namespace ckpt::eval
