#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace ckpt {

/// Module and name as Python 3 looks them up when a pickle of a protocol below 3 names them: "copy_reg" is "copyreg",
/// "__builtin__ xrange" is "builtins range". Unchanged where nothing was renamed.
std::pair<std::string, std::string> to_python3(std::string_view module, std::string_view name);

/// Module and name as Python 3 writes them into a pickle of a protocol below 3, for Python 2 to find. Not always the
/// inverse: several names of one language may be one name of the other.
std::pair<std::string, std::string> to_python2(std::string_view module, std::string_view name);

}  // namespace ckpt
