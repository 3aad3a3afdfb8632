#pragma once

#include "format.h"

namespace ckpt::torchscript {

/// What torch.jit.save has written since 1.0, and _save_for_lite_interpreter; docs/formats/torchscript.md.
extern const Format script_format;

bool probe_script(const ByteSource& source);
Checkpoint read_script(const ByteSourcePtr& source, const ReadContext& context);
WriteReceipt write_script(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options);

}  // namespace ckpt::torchscript
