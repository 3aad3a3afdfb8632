#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "format.h"

namespace ckpt {

/// What is to be read back of a checkpoint, told before it is written.
class Expected {
 public:
  Expected(const Format& format, const Checkpoint& checkpoint, ReadBack how);

  struct Named {
    std::string name;
    TensorInfo info;
  };
  ReadBack how;
  std::string file;  ///< that the checkpoint was read from
  std::size_t tensors = 0;
  std::vector<Named> names;  ///< where all of it is read
};

/// Compares the output, the bytes that `open` opens, with what was to be written; `gzip`: it was compressed.
/// quick: directory, pickle, and the checksums that the container records. full: every byte, every storage's checksum
/// as it was taken while writing, and every tensor's name, dtype and shape.
/// Throws Error: io, on_output, that says what differs; limit_exceeded, in `expected.file`, where what was written is
/// past a cap that the checkpoint was not past: an output so small may hold less than its source held.
void check_read_back(const Format& format, const Expected& expected, const std::function<ByteSourcePtr()>& open,
                     bool gzip, const WriteReceipt& receipt);

}  // namespace ckpt
