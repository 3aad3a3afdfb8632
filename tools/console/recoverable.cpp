#include "recoverable.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/formats.h"

namespace ckpt::tools {

bool recovers(const std::string& format) {
  const std::vector<FormatInfo> all = formats();
  return std::any_of(all.begin(), all.end(), [&](const FormatInfo& f) { return f.name == format && f.recovers; });
}

bool may_be_recovered(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return true;  // what came through a pipe is gone
  try {
    const std::string format = detect(open_checkpoint(file)).format;
    return format.empty() || recovers(format);
  } catch (const Error&) {
    return true;
  }
}

}  // namespace ckpt::tools
