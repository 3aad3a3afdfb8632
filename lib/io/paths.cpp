#include "io/paths.h"

namespace ckpt {

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

bool holds_nul(std::string_view path) { return path.find('\0') != std::string_view::npos; }

bool stays_inside(std::string_view name) {
  if (holds_nul(name)) return false;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace ckpt
