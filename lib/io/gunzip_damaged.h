#pragma once

#include <cstdint>

#include "ckpt/byte_source.h"
#include "io/faults.h"

namespace ckpt {

/// gunzip() of a stream that may be cut or damaged: it ends where it cannot be inflated any further, and a member's
/// checksum or length that does not match ends nothing. All that is wrong is in `faults` once size() has been asked.
/// Throws Error: io, limit_exceeded.
CKPT_API ByteSourcePtr gunzip_damaged(ByteSourcePtr compressed, const Faults& faults, std::uint64_t most = UINT64_MAX);

}  // namespace ckpt
