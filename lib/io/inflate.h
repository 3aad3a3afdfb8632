#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/byte_source.h"
#include "ckpt/export.h"
#include "io/faults.h"
#include "io/inflating_share.h"

namespace ckpt {

inline constexpr std::uint64_t unknown_size = UINT64_MAX;

/// A raw deflate stream (RFC 1951; method 8 of a zip) of which the container says that it inflates to `size` bytes;
/// unknown_size: it says nothing that is to be believed.
/// `crc` is what recorded_crc32() returns: whoever reads all of it compares. Buffers are given back at the end.
/// Throws Error from read_at: corrupt (also where it inflates to more or fewer bytes than `size`), truncated. With
/// `faults` those are noted there, and it ends where the damage begins: size() then is what there is. `shared`: keeps
/// the buffers of an archive's members that were read last (InflatingShare).
CKPT_API ByteSourcePtr inflate_raw(ByteSourcePtr compressed, std::uint64_t size, std::string name,
                                   std::optional<std::uint32_t> crc, const Faults& faults = nullptr,
                                   std::shared_ptr<InflatingShare> shared = nullptr);

}  // namespace ckpt
