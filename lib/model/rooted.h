#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Throws Error (invalid_argument) where the checkpoint's root is none of its values: it was moved from. No root at all
/// is taken, as there is nothing to see then.
void check_root(const Checkpoint& checkpoint);

/// The same for who writes it or takes it apart: throws where there is no root either.
void require_root(const Checkpoint& checkpoint);

}  // namespace ckpt
