#pragma once

#include <string>

#include "ckpt/byte_source.h"

namespace ckpt::eval {

/// A text file as a whole, ckpt::limits::evaluation_bytes at most. Throws Error (io, limit_exceeded).
[[nodiscard]] std::string read_text(const std::string& file);
[[nodiscard]] std::string read_text(const ByteSource& source);

}  // namespace ckpt::eval
