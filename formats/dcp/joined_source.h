#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "dcp/read_ahead.h"
#include "dcp/tiling.h"

namespace ckpt::dcp {

/// The elements of a tensor, contiguous, gathered from the chunks that tile it. Reading forward reads each chunk
/// forward, so that their sources compare the checksums they have. `chunks`: of each box of the tiling its elements,
/// contiguous and little-endian, `element_size` bytes each. `size`: in bytes.
ByteSourcePtr joined_source(std::string name, Tiling tiling, std::size_t element_size, std::uint64_t size,
                            std::vector<ByteSourcePtr> chunks, const std::shared_ptr<ReadAhead>& room);

}  // namespace ckpt::dcp
