#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ckpt::tools {

/// The body of a main(): runs `work` on the words after the program's name, and returns the exit status. Temporary
/// files are removed where a signal ends the program, closed standard streams harm nothing, errors and lack of memory
/// are printed, and output that was lost is an error.
int run_program(int count, char** words, const std::function<int(const std::vector<std::string>&)>& work);

}  // namespace ckpt::tools
