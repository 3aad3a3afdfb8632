#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ckpt/byte_source.h"

namespace ckpt::torchscript {

/// The location of the storage that a pickle's nth persistent id names; none where it stays what it is.
using LocationOf = std::function<std::optional<std::string>(std::size_t)>;

/// The pickle with other locations in the ids of its storages, and every other instruction as it was. libtorch reads
/// few opcodes, and its own order of them, so that no pickle made anew would do. A string that the memo shares between
/// a location and something else stays what it was in the other place.
/// Throws Error (unsupported) for ids that libtorch's pickler does not write.
std::string relocate(const ByteSource& pickle, const LocationOf& location_of);

}  // namespace ckpt::torchscript
