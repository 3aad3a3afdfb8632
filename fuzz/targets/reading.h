#pragma once

#include "ckpt/byte_source.h"
#include "format.h"

namespace ckpt::fuzz {

/// Reads a source that `format` recognises, strictly and as verify() does, and does with the checkpoint all that needs
/// no output. What verify() finds no fault in, must read to its last byte.
void exercise(const Format& format, const ByteSourcePtr& source);

}  // namespace ckpt::fuzz
