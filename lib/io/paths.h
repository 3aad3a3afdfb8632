#pragma once

#include <string>
#include <string_view>

namespace ckpt {

/// The folder that a path's last part lies in: "." where the path has only one part.
std::string folder_of(std::string_view path);

/// Whether a name, as a file gives it, is a file's in the same folder or below: not absolute, without "..", "." or
/// empty parts, and of bytes that a path may have.
bool stays_inside(std::string_view name);

/// Whether the system would see but a part of it, and another file.
bool holds_nul(std::string_view path);

}  // namespace ckpt
