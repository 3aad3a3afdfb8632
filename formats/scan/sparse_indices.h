#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/limits.h"

namespace ckpt::scanning {

/// Whether the indices of sparse tensors lie within their shapes, and go together with their values. torch looks at
/// none when it loads one (torch._utils._validate_loaded_sparse_tensors of 2.11 does on demand alone), and reads and
/// writes memory by them afterwards; the sizes of compressed ones it takes as they are, too. Reads the indices, a few
/// MiB at a time, those of equal tensors once.
class SparseIndices {
 public:
  /// Throws Error: corrupt (naming the tensor), limit_exceeded (all indices so far are far more bytes than their
  /// storages have), and what reading throws.
  void check(const Checkpoint& checkpoint);

 private:
  void count(const Checkpoint& checkpoint, const Tensor& tensor, std::set<std::uint32_t>& storages);

  std::uint64_t read_ = 0, held_ = limits::expansion_floor;  ///< bytes: of indices, and of storages beside what is free
};

}  // namespace ckpt::scanning
