#include "report/json_depth.h"

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::eval {

void check_json_depth(const std::string& text) {
  bool inside = false;  // a string
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (inside && c == '\\') {
      ++at;
    } else if (c == '"') {
      inside = !inside;
    } else if (!inside && (c == '[' || c == '{')) {
      if (++depth > limits::evaluation_depth)
        throw Error(ErrorCode::limit_exceeded, "JSON nested deeper than " + std::to_string(limits::evaluation_depth))
            .at(at);
    } else if (!inside && (c == ']' || c == '}')) {
      --depth;
    }
  }
}

}  // namespace ckpt::eval
