#pragma once

#include "ckpt/checkpoint.h"
#include "format.h"

namespace ckpt::torch {

/// The files that torch.save wrote until PyTorch 0.1.12: a tar of sys_info, pickle, tensors and storages, each a run of
/// pickles and raw numbers; docs/formats/torch-tar.md.
extern const Format tar_format;

bool probe_tar(const ByteSource& source);
Checkpoint read_torch_tar(const ByteSourcePtr& source, const ReadContext& context);

}  // namespace ckpt::torch
