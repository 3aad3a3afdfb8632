#pragma once

#include <string>

#include "writing.h"

namespace ckpt::tools {

/// What the library proposes as options of `ckpt convert` ("--drop x leaves it out"), as commands that do it, with what
/// the user gave: the command again with these options, or, where it does not take them or names things anew, the
/// command to another file and then `ckpt convert` of that. `in`: the file whose format is written.
std::string option_hint(const Job& job, const std::string& options, const std::string& in);

}  // namespace ckpt::tools
