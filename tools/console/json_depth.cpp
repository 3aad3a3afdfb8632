#include "console/json_depth.h"

namespace ckpt::tools {

std::optional<std::size_t> nested_deeper_at(std::string_view json, int most) {
  bool inside = false;  // a string
  int depth = 0;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    if (inside && c == '\\') {
      ++at;
    } else if (c == '"') {
      inside = !inside;
    } else if (!inside && (c == '[' || c == '{')) {
      if (++depth > most) return at;
    } else if (!inside && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace ckpt::tools
