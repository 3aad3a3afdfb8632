#pragma once

#include "ckpt/byte_source.h"
#include "ckpt/error.h"

namespace ckpt {

/// The error for a zip archive that holds no checkpoint: says what it is, where its members tell, and what reads it.
Error foreign_zip(const ByteSource& source);

}  // namespace ckpt
