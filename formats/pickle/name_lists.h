#pragma once

#include <algorithm>
#include <string_view>

/// How names are spelt, and tables of them asked.
namespace ckpt {

/// Whether a module is that package, or lies in it.
inline bool is_in(std::string_view module, std::string_view package) {
  return module.starts_with(package) && (module.size() == package.size() || module[package.size()] == '.');
}

/// Whether a text is spelt as modules and attributes of ASCII letters are: "torch.nn".
inline bool is_dotted_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  return !text.empty() && (text[0] < '0' || text[0] > '9') && std::all_of(text.begin(), text.end(), fits);
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
