#pragma once

#include <algorithm>
#include <string_view>

/// How tables of names are asked.
namespace ckpt {

/// Whether a module is that package, or lies in it.
inline bool is_in(std::string_view module, std::string_view package) {
  return module.starts_with(package) && (module.size() == package.size() || module[package.size()] == '.');
}

/// Whether a list of names, with spaces between them, has one.
inline bool lists(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace ckpt
