#pragma once

#include "ckpt/byte_source.h"
#include "format.h"

namespace ckpt {

/// Compares `written`, the output as it can be read (inflated where it was compressed), with what was to be written.
/// quick: directory, pickle, and the checksums that the container records. full: every byte, every storage's checksum
/// as it was taken while writing, and every tensor's name, dtype and shape.
/// Throws Error (io, on_output) that says what differs.
void check_read_back(const Format& format, const Checkpoint& checkpoint, const ByteSourcePtr& written,
                     const WriteReceipt& receipt, ReadBack how);

}  // namespace ckpt
