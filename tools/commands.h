#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"

namespace ckpt::tools {

/// Runs a command whose options have been parsed; returns its exit status. `quiet`: results, warnings and errors only.
using Runner = std::function<int(bool quiet)>;

/// One subcommand. Adding one is a file that defines a Command, and a line in commands.cpp.
struct Command {
  std::string_view name;
  std::string_view usage;    ///< what follows the name: "IN OUT [options]"
  std::string_view summary;  ///< one line of the list of commands
  std::string_view about;    ///< a paragraph for its own help, lines broken, ending in a newline
  std::string_view first_example, second_example;
  Runner (*define)(Arguments& arguments);  ///< declares the options
};

/// `ckpt WORDS…`: finds the command, parses, runs. Returns the exit status; throws what fails.
int run(const std::vector<std::string>& words);

}  // namespace ckpt::tools
