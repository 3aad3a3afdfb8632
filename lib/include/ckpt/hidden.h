#pragma once

#include "ckpt/export.h"

namespace ckpt {

/// Whether a terminal shows a character as nothing, or lets it change what stands beside it: controls, and what is
/// invisible or reorders its neighbours.
CKPT_API bool is_hidden(char32_t point);

}  // namespace ckpt
