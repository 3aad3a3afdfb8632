#include "command.h"

#include "ckpt/version.h"
#include "messages.h"
#include "sandbox.h"

namespace ckpt::tools {
namespace {

std::string help(const Command& command, const Arguments& arguments) {
  std::string out = "usage: ckpt " + std::string(command.name) + " " + std::string(command.usage) + "\n\n";
  out += std::string(command.about) + "\noptions:\n" + arguments.options_help();
  out += "  --help              this text\n\nexamples:\n";
  return out + "  " + std::string(command.first_example) + "\n  " + std::string(command.second_example) + "\n";
}

}  // namespace

int run(const Command& command, const std::vector<std::string>& words, Sandbox sandbox) {
  Arguments arguments{std::string(command.name)};
  const Runner work = command.define(arguments);
  bool quiet = false, version = false, unconfined = false;
  arguments.flag("--quiet", quiet, "no summary and no notes: only results, warnings and errors");
  if (command.confined)
    arguments.flag("--no-sandbox", unconfined,
                   "keep rights that are not needed: to write elsewhere, to start programs ...");
  arguments.flag("--version", version, "print the version");
  if (!arguments.parse(words)) {
    print(help(command, arguments));
    return exit_done;
  }
  if (version) {
    print_version();
    return exit_done;
  }
  if (sandbox == Sandbox::on && command.confined && !unconfined) confine(arguments.outputs(), words);
  return work(quiet);
}

}  // namespace ckpt::tools
