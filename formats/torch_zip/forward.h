#pragma once

#include <optional>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "format.h"

namespace ckpt::torch {

/// Reads a torch zip whose directory is not within reach (it lies in gzip) from its first byte on: the pickle comes
/// first and tells the size of each storage, so that one pass over the stream does. The directory is read and compared
/// when all else has been, by finish_reading(). Nothing where the archive does not begin as torch.save begins one.
///
/// Storages stand in the order in which torch most likely wrote them; they may be read in any, at the cost of inflating
/// again.
std::optional<Checkpoint> read_forward(const ByteSourcePtr& source, const ReadContext& context);

}  // namespace ckpt::torch
