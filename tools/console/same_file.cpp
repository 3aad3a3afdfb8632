#include "console/same_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "ckpt/error.h"

namespace ckpt::tools {
namespace {

/// None where nothing is there, or nothing that has a content to lose.
std::optional<struct stat> status_of(const std::string& path, int stream) {
  struct stat status {};
  if (path == "-") {
    const bool is_file = ::fstat(stream, &status) == 0 && S_ISREG(status.st_mode);
    return is_file ? std::optional(status) : std::nullopt;
  }
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG || errno == ELOOP) return std::nullopt;
  Error error(ErrorCode::io, "cannot look at it: " + std::generic_category().message(errno));
  error.in(path);
  throw stream == STDOUT_FILENO ? error.on_output() : error;
}

}  // namespace

bool is_same_file(const std::string& in, const std::string& out) {
  const auto there = status_of(out, STDOUT_FILENO);
  if (!there) return out != "-" && in == out;
  const auto here = status_of(in, STDIN_FILENO);
  return here && here->st_dev == there->st_dev && here->st_ino == there->st_ino;
}

}  // namespace ckpt::tools
