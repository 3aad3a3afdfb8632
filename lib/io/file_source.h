#pragma once

#include <cstdint>
#include <string>

#include "ckpt/byte_source.h"
#include "io/posix.h"

namespace ckpt {

/// `size` bytes of an open file from `begin` on, read by pread. Owns the descriptor.
ByteSourcePtr file_source(UniqueFd fd, std::uint64_t begin, std::uint64_t size, std::string name);

/// Copies all that `fd` still gives to an unnamed temporary file in $TMPDIR (or /tmp) and returns that.
/// Throws Error (io).
UniqueFd spool(int fd, const std::string& name, std::uint64_t& size);

}  // namespace ckpt
