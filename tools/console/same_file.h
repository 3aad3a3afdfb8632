#pragma once

#include <string>

namespace ckpt::tools {

/// Whether what is written to `out` would land in the file `in`: by another name, through a link, as what a standard
/// stream ("-") comes from or goes to. Throws Error (io) where that cannot be found out.
bool is_same_file(const std::string& in, const std::string& out);

}  // namespace ckpt::tools
