#pragma once

#include "ckpt/byte_source.h"
#include "format.h"

namespace ckpt {

/// A source with its gzip layers taken off, and the format of what is inside (null where none knows it).
struct Opened {
  ByteSourcePtr bytes;
  int gzip_layers = 0;
  const Format* format = nullptr;
};

/// Throws Error: io, limit_exceeded.
Opened open_layers(const ByteSourcePtr& source);

/// Reads what open_layers() found: a checkpoint that knows its name, its compression and its bytes. Throws Error:
/// unsupported, by name, where no format knows it; what the format's reader throws.
Checkpoint read_opened(const Opened& opened, const ReadContext& context);

}  // namespace ckpt
