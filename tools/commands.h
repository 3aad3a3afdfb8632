#pragma once

#include <string>
#include <vector>

#include "console/command.h"

/// Adding a command is a file that defines a Command, and its name in the list and the table of commands.cpp.
namespace ckpt::tools {

/// `ckpt WORDS…`: finds the command, parses, runs. Returns the exit status; throws what fails.
int run(const std::vector<std::string>& words, Sandbox sandbox = Sandbox::off);

}  // namespace ckpt::tools
