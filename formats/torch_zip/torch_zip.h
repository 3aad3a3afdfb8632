#pragma once

#include "format.h"

namespace ckpt::torch {

/// The zip files that torch.save has written since 1.6; docs/formats/torch.md.
extern const Format zip_format;

bool probe_zip(const ByteSource& source);
Checkpoint read_zip(const ByteSourcePtr& source, const ReadContext& context);
/// Of an archive that is cut or damaged. Throws Error: where its pickle is lost, and with it every name.
Salvage salvage_zip(const ByteSourcePtr& source, const ReadContext& context);
WriteReceipt write_zip(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options);

}  // namespace ckpt::torch
