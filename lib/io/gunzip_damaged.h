#pragma once

#include <cstdint>
#include <optional>

#include "ckpt/byte_source.h"
#include "io/faults.h"

namespace ckpt {

/// gunzip() of a stream that may be cut or damaged: it ends where it cannot be inflated any further, and a member's
/// checksum or length that does not match ends nothing. Where an index tells where the members are of a stream that is
/// not sound, what cannot be inflated of one is zeros, and the next one is where it was. All that is wrong is in
/// `faults` once size() has been asked. Throws Error: io, limit_exceeded.
CKPT_API ByteSourcePtr gunzip_damaged(ByteSourcePtr compressed, const Faults& faults, std::uint64_t most = UINT64_MAX);

/// Whether all bytes of `source`, which is from gunzip_damaged() or a slice of that, have the checksums that the
/// members which hold them record. Nothing where there is no index: bytes behind a fault may be others' then.
CKPT_API std::optional<bool> has_gzip_checksums(const ByteSource& source);

}  // namespace ckpt
