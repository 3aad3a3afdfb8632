#pragma once

#include "ckpt/checkpoint.h"

namespace ckpt::scanning {

/// Refuses sparse tensors of which an index lies past the shape, or past the values. torch looks at none when it loads
/// one (torch._utils._validate_loaded_sparse_tensors of 2.11 does on demand alone), and reads and writes memory by them
/// afterwards; the sizes of compressed ones it takes as they are, too. Reads the indices, a few MiB at a time. Throws
/// Error, naming the tensor: corrupt, limit_exceeded (views that stand for far more bytes than there are), and what
/// reading throws.
void check_sparse_indices(const Checkpoint& checkpoint);

}  // namespace ckpt::scanning
