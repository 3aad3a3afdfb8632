#pragma once

#include <c10/core/Storage.h>

#include "ckpt/byte_source.h"

namespace ckpt::eval {

/// The bytes of a storage of libtorch's on the CPU, which it keeps alive.
ByteSourcePtr storage_source(c10::Storage storage);

}  // namespace ckpt::eval
