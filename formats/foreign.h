#pragma once

#include "ckpt/byte_source.h"
#include "ckpt/error.h"

namespace ckpt {

/// The error for a source that no format knows: says what it is, where that can be told, and what to do.
Error foreign_file(const ByteSource& source);

}  // namespace ckpt
