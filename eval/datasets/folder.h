#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt::eval {

/// Whether a name ends in .png, in upper or lower case.
bool is_picture_name(std::string_view name);

/// All pictures (by their names) in a folder and those under it, as paths that begin with `folder`, numbers in names
/// in numeric order (2.png before 10.png). Links are followed, each folder is entered once, and a link that leads
/// nowhere is among them, for whoever reads it to report. What is neither file nor folder, such as a pipe, is not.
/// Throws Error: io, where a folder cannot be read.
std::vector<std::string> find_pictures(const std::string& folder);

}  // namespace ckpt::eval
