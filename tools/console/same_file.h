#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace ckpt::tools {

/// Where links at the end of `path` lead, whether something is there or not: where a file of that name is made.
/// `failed`: set where that cannot be found out.
std::filesystem::path end_of_links(const std::string& path, std::error_code& failed);

/// Whether what is written to `out` would land in the file `in`: by another name, through a link, as what a standard
/// stream ("-") comes from or goes to. Throws Error (io) where that cannot be found out.
bool is_same_file(const std::string& in, const std::string& out);

}  // namespace ckpt::tools
