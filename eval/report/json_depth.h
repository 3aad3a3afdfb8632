#pragma once

#include <string>

namespace ckpt::eval {

/// Throws Error (limit_exceeded) where they nest deeper than ckpt::limits::evaluation_depth: nested_deeper_at().
void check_json_depth(const std::string& text);

}  // namespace ckpt::eval
