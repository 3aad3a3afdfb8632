#pragma once

#include <string>

namespace ckpt::eval {

/// A text file as a whole, ckpt::limits::evaluation_bytes at most. Throws Error (io, limit_exceeded).
[[nodiscard]] std::string read_text(const std::string& file);

/// Writes a file whole or not at all. Throws Error (io, on_output).
void write_text(const std::string& file, const std::string& text);

}  // namespace ckpt::eval
