#pragma once

#include <string>
#include <vector>

namespace ckpt::eval {

/// `ckpt-eval WORDS…`, or `ckpt-eval --merge WORDS…`. Returns the exit status; throws what fails.
int run(const std::vector<std::string>& words);

}  // namespace ckpt::eval
