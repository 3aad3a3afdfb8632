#include "loading.h"

#include "console/messages.h"

namespace ckpt::tools {

Checkpoint load_with_warnings(const std::string& file, const ReadOptions& options) {
  try {
    Checkpoint checkpoint = load(file, options);
    for (const std::string& warning : checkpoint.warnings) print_warning(file + ": " + warning);
    return checkpoint;
  } catch (Error& error) {
    error.in(file);
    throw;
  }
}

std::uint64_t bytes_beside(const Checkpoint& checkpoint) {
  std::uint64_t bytes = 0;
  for (const ByteSourcePtr& file : checkpoint.beside) bytes += file->size();
  return bytes;
}

void define_reading_options(Arguments& arguments, ReadOptions& options) {
  arguments.flag("--dequantize", options.dequantize, "blocks of quantised numbers (GGUF's Q8_0, Q4_0) as float32");
}

}  // namespace ckpt::tools
