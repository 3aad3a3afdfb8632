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

std::filesystem::path end_of_links(const std::string& path, std::error_code& failed) {
  constexpr int most_links = 40;
  std::filesystem::path at = path;
  for (int links = 0;; ++links) {
    const std::filesystem::path leads_to = std::filesystem::read_symlink(at, failed);
    const bool is_end = failed == std::errc::invalid_argument || failed == std::errc::no_such_file_or_directory ||
                        failed == std::errc::not_a_directory || failed == std::errc::filename_too_long;
    if (is_end) failed.clear();
    if (is_end || failed) break;
    if (links == most_links) failed = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    if (failed) break;
    at = at.parent_path() / leads_to;
  }
  return at;
}

bool is_same_file(const std::string& in, const std::string& out) {
  const auto there = status_of(out, STDOUT_FILENO);
  if (!there) return out != "-" && in == out;
  const auto here = status_of(in, STDIN_FILENO);
  return here && here->st_dev == there->st_dev && here->st_ino == there->st_ino;
}

}  // namespace ckpt::tools
