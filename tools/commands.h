#pragma once

#include <string>
#include <vector>

/// Adding a command is a file that defines a Command, and a line in commands.cpp.
namespace ckpt::tools {

/// `ckpt WORDS…`: finds the command, parses, runs. Returns the exit status; throws what fails.
int run(const std::vector<std::string>& words);

}  // namespace ckpt::tools
