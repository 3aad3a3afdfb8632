#pragma once

#include "ckpt/byte_source.h"

namespace ckpt::scanning {

/// The same bytes; but a read that meets damage gives what comes before it, and the next one throws. A program that
/// inflates a piece at a time has run what the piece holds before it finds the damage.
ByteSourcePtr salvage(ByteSourcePtr inflated);

}  // namespace ckpt::scanning
