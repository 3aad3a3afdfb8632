#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"

namespace ckpt::tools {

/// Runs a command whose options have been parsed; returns its exit status. `quiet`: results, warnings and errors only.
using Runner = std::function<int(bool quiet)>;

/// One subcommand.
struct Command {
  std::string_view name;
  std::string_view usage;    ///< what follows the name: "IN OUT [options]"
  std::string_view summary;  ///< one line of the list of commands
  std::string_view about;    ///< a paragraph for its own help, lines broken, ending in a newline
  std::string_view first_example, second_example;
  Runner (*define)(Arguments& arguments);  ///< declares the options
  bool confined = true;                    ///< false: libtorch, or a device's driver, may need anything
};

/// Whether the process gives up what a command does not need once its options are known (console/sandbox.h): only the
/// program itself, which runs one.
enum class Sandbox { off, on };

/// Declares its options, parses `words` (what follows the command's name), and runs it, or prints its help. Returns the
/// exit status; throws what fails.
int run(const Command& command, const std::vector<std::string>& words, Sandbox sandbox);

}  // namespace ckpt::tools
