#include "devices/visibility.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace ckpt::eval {
namespace {

std::string_view trimmed(std::string_view word) {
  const auto first = word.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return word.substr(first, word.find_last_not_of(" \t") - first + 1);
}

/// The GPU that `word` names by its number or by the beginning of its UUID; none where it names none, or two.
std::optional<std::size_t> named(std::string_view word, const std::vector<std::string>& uuids) {
  if (word.starts_with("GPU-")) {
    const auto matches = [&](const std::string& uuid) { return std::string_view(uuid).starts_with(word); };
    const auto found = std::find_if(uuids.begin(), uuids.end(), matches);
    if (found == uuids.end() || std::find_if(found + 1, uuids.end(), matches) != uuids.end()) return std::nullopt;
    return static_cast<std::size_t>(found - uuids.begin());
  }
  std::size_t number = 0;
  const auto end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || number >= uuids.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string visibility_fault(std::string_view variable, const std::vector<std::string>& uuids) {
  std::vector<std::size_t> seen;
  for (std::size_t at = 0; at < variable.size();) {
    const std::size_t end = std::min(variable.find(',', at), variable.size());
    const std::string_view word = trimmed(variable.substr(at, end - at));
    at = end + 1;
    if (word.starts_with("MIG-")) continue;
    if (word == "-1") return {};  // said on purpose
    const auto gpu = named(word, uuids);
    const std::string quoted = "'" + std::string(word) + "'";
    if (!gpu) return quoted + " names no GPU of this machine, and CUDA reads no further";
    if (std::find(seen.begin(), seen.end(), *gpu) != seen.end()) {
      return quoted + " names a GPU for the second time, and CUDA then shows none";
    }
    seen.push_back(*gpu);
  }
  return {};
}

}  // namespace ckpt::eval
