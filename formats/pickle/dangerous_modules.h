#pragma once

#include <string_view>

namespace ckpt {

/// Whether a top-level module belongs to the standard library of some Python 2 or 3.
bool in_standard_library(std::string_view top_level);

/// Whether a top-level package is torch, numpy, or one that runs code, unpickles, installs or talks to a network.
bool is_dangerous_package(std::string_view top_level);

}  // namespace ckpt
