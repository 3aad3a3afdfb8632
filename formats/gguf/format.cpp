#include "gguf/gguf.h"

namespace ckpt::gguf {

static constexpr std::string_view suffixes[] = {".gguf"};

const Format gguf_format{
    .name = "gguf",
    .description = "GGUF (llama.cpp, whisper.cpp): tensors by name, some in blocks of few bits",
    .suffixes = suffixes,
    .loader = "gguf.GGUFReader",
    .has_checksums = false,
    .pickled = false,
    .probe = probe,
    .read = read,
};

}  // namespace ckpt::gguf
