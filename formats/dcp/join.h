#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/checkpoint.h"
#include "dcp/metadata.h"
#include "dcp/read_ahead.h"

namespace ckpt::dcp {

/// A chunk as it lies in its file: a tensor and the storage that it lies in.
struct Chunk {
  Storage storage;
  TensorInfo info;  ///< as it lies in the whole of that storage
};

/// The one tensor of `part` as a chunk. Throws Error: corrupt (another dtype or shape), unsupported (a tensor that has
/// no plain elements).
Chunk chunk_of(const Checkpoint& part, const Tensor& tensor, DType dtype, std::span<const std::int64_t> shape);

/// Joins the chunks of tensors.
class Joiner {
 public:
  explicit Joiner(Steps steps) : steps_(steps) {}

  /// The tensor `entry`, from one chunk for each of its boxes. A single chunk is taken as it lies; else the elements
  /// are contiguous. Throws Error: corrupt (boxes that do not tile the tensor), limit_exceeded.
  TensorSource join(const Entry& entry, std::vector<Chunk> chunks, const std::string& where);

 private:
  std::shared_ptr<ReadAhead> room_ = std::make_shared<ReadAhead>();
  Steps steps_;
};

}  // namespace ckpt::dcp
