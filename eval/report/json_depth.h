#pragma once

#include <string>

namespace ckpt::eval {

/// Throws Error (limit_exceeded) where brackets outside strings nest deeper than ckpt::limits::evaluation_depth: looked
/// at before parsing, which spends many times a bracket's byte on it.
void check_json_depth(const std::string& text);

}  // namespace ckpt::eval
