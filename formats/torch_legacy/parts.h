#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"

/// What stands around the object and its elements.
namespace ckpt::torch {

inline constexpr std::uint64_t count_bytes = 8;  ///< before each storage

/// The pickles before the object; their names go to `globals`. Returns where the object begins. Throws Error: what
/// reading them throws, corrupt, unsupported.
std::uint64_t read_header(const ByteSource& source, std::uint64_t cap, Checkpoint& checkpoint,
                          std::vector<GlobalUse>& globals);

/// The list of storages' keys, in the order in which they stand behind it; `offset` goes past it. Throws Error: what
/// reading it throws, corrupt.
std::vector<std::string> read_keys(const ByteSource& source, std::uint64_t& offset, std::uint64_t cap,
                                   std::vector<GlobalUse>& globals);

}  // namespace ckpt::torch
