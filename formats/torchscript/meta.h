#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt::torchscript {

/// Takes the storages away whose location is "meta": they have no bytes, which a move to another device could not make
/// up for. Their tensors stay, as meta tensors do: of a shape, and of nothing else.
void drop_meta_storages(Checkpoint& checkpoint);

}  // namespace ckpt::torchscript
