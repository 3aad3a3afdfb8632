#pragma once

#include "format.h"

/// GGUF, the files of llama.cpp and whisper.cpp (docs/formats/gguf.md).
namespace ckpt::gguf {

bool probe(const ByteSource& source);
Checkpoint read(const ByteSourcePtr& source, const ReadContext& context);

extern const Format gguf_format;

}  // namespace ckpt::gguf
