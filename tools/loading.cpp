#include "loading.h"

#include "ckpt/formats.h"
#include "console/messages.h"

namespace ckpt::tools {

Checkpoint load_with_warnings(const std::string& file) {
  try {
    Checkpoint checkpoint = load(file);
    for (const std::string& warning : checkpoint.warnings) print_warning(file + ": " + warning);
    return checkpoint;
  } catch (Error& error) {
    error.in(file);
    throw;
  }
}

}  // namespace ckpt::tools
