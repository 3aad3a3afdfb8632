#include "report/json_depth.h"

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "console/json_depth.h"

namespace ckpt::eval {

void check_json_depth(const std::string& text) {
  if (const auto at = tools::nested_deeper_at(text, limits::evaluation_depth))
    throw Error(ErrorCode::limit_exceeded, "JSON nested deeper than " + std::to_string(limits::evaluation_depth))
        .at(*at);
}

}  // namespace ckpt::eval
