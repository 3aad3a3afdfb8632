#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt::eval {

/// Whether a name ends in .png, in upper or lower case.
bool is_picture_name(std::string_view name);

/// Names of what lies in a folder, numbers in them in numeric order. Throws Error (io).
std::vector<std::string> names_in(const std::string& folder);

}  // namespace ckpt::eval
