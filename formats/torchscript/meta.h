#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt::torchscript {

/// Whether a storage has no bytes, by its location.
bool is_meta(const Storage& storage);

/// Takes such storages away: a move to another device could not make up for the bytes. Their tensors stay, as meta
/// tensors do: of a shape, and of nothing else.
void drop_meta_storages(Checkpoint& checkpoint);

}  // namespace ckpt::torchscript
