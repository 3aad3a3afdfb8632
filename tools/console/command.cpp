#include "command.h"

#include "ckpt/version.h"
#include "messages.h"

namespace ckpt::tools {
namespace {

std::string help(const Command& command, const Arguments& arguments) {
  std::string out = "usage: ckpt " + std::string(command.name) + " " + std::string(command.usage) + "\n\n";
  out += std::string(command.about) + "\noptions:\n" + arguments.options_help();
  out += "  --help              this text\n\nexamples:\n";
  return out + "  " + std::string(command.first_example) + "\n  " + std::string(command.second_example) + "\n";
}

}  // namespace

int run(const Command& command, const std::vector<std::string>& words) {
  Arguments arguments{std::string(command.name)};
  const Runner work = command.define(arguments);
  bool quiet = false, version = false;
  arguments.flag("--quiet", quiet, "no summary and no notes: only results, warnings and errors");
  arguments.flag("--version", version, "print the version");
  if (!arguments.parse(words)) {
    print(help(command, arguments));
    return exit_done;
  }
  if (version) {
    print_version();
    return exit_done;
  }
  return work(quiet);
}

}  // namespace ckpt::tools
