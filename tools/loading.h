#pragma once

#include <string>

#include "ckpt/checkpoint.h"

namespace ckpt::tools {

/// Reads a file, prints what its reader warns of, and names it in errors.
Checkpoint load_with_warnings(const std::string& file);

}  // namespace ckpt::tools
