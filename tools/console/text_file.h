#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt::tools {

/// Writes a text file whole or not at all, and notes what it removed beside it. Throws Error (io, on_output).
void write_text_file(const std::string& path, std::string_view text);

/// Notes the temporaries of killed runs that a sink has removed (FileSink::removed).
void note_removed(const std::vector<std::string>& names);

}  // namespace ckpt::tools
