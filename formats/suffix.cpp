#include "suffix.h"

#include <algorithm>

#include "ckpt/formats.h"
#include "format.h"
#include "io/ascii.h"

namespace ckpt {
namespace {

constexpr std::string_view gz = ".gz";

}  // namespace

bool equal_in_any_case(std::string_view name, std::string_view lower) {
  return std::equal(name.begin(), name.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return ascii_lower(a) == b; });
}

bool ends_with_in_any_case(std::string_view name, std::string_view lower) {
  return name.size() >= lower.size() && equal_in_any_case(name.substr(name.size() - lower.size()), lower);
}

std::string_view suffix_among(std::string_view name, std::span<const std::string_view> suffixes) {
  const auto found =
      std::ranges::find_if(suffixes, [&](std::string_view suffix) { return ends_with_in_any_case(name, suffix); });
  return found == suffixes.end() ? std::string_view() : *found;
}

bool ends_in_gz(std::string_view name) { return ends_with_in_any_case(name, gz); }

std::string_view without_gz(std::string_view name) {
  return ends_in_gz(name) ? name.substr(0, name.size() - gz.size()) : name;
}

std::vector<std::string> formats_by_suffix(std::string_view file) {
  file = without_gz(file);
  std::vector<std::string> names;
  for (const Format* format : format_table())
    if (!suffix_among(file, format->suffixes).empty()) names.emplace_back(format->name);
  return names;
}

}  // namespace ckpt
