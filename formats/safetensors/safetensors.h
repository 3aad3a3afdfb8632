#pragma once

#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "format.h"

/// Tensors by name behind a header of JSON (docs/formats/safetensors.md).
namespace ckpt::safetensors {

extern const Format safetensors_format;

/// What a header could be.
bool probe(const ByteSource& source);
Checkpoint read(const ByteSourcePtr& source, const ReadContext& context);
/// Of a file that is cut. Throws Error: where its header is.
Salvage salvage(const ByteSourcePtr& source, const ReadContext& context);
/// Byte for byte what safetensors.torch.save_file writes of the same tensors and metadata.
WriteReceipt write(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options);
std::vector<std::string> losses(const Checkpoint& checkpoint);

}  // namespace ckpt::safetensors
