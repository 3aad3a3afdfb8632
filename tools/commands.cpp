#include "commands.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "component.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/text.h"

namespace ckpt::tools {

extern const Command inspect_command, convert_command, strip_prefix_command, add_prefix_command, verify_command,
    digest_command, diff_command, check_command, stats_command, average_command, extract_command, shard_command,
    merge_command, scan_command, recover_command, devices_command, formats_command;

namespace {

// In the order in which help lists them.
constexpr std::array<const Command*, 17> table{
    &inspect_command, &convert_command, &strip_prefix_command, &add_prefix_command, &verify_command,  &digest_command,
    &diff_command,    &check_command,   &stats_command,        &average_command,    &extract_command, &shard_command,
    &merge_command,   &scan_command,    &recover_command,      &devices_command,    &formats_command,
};

constexpr std::array<Component, 2> components{{
    {"eval", "load it into its reference model and run the test set", "ckpt-eval", ""},
    {"eval-merge", "join the partial results of ckpt eval --shard", "ckpt-eval", "--merge"},
}};

std::string help_line(std::string_view name, std::string_view summary) {
  std::string line = "  " + std::string(name);
  line.resize(16, ' ');
  return line + std::string(summary) + "\n";
}

std::string help() {
  std::string out =
      "ckpt works on PyTorch checkpoints without Python, and without running anything that is in them\n"
      "(but the code of TorchScript, by eval --arch torchscript).\n\n"
      "usage: ckpt COMMAND [options] FILE...\n\ncommands:\n";
  for (const Command* command : table) out += help_line(command->name, command->summary);
  for (const Component& component : components) out += help_line(component.name, component.summary);
  return out +
         "\noptions of every command:\n"
         "  --quiet       no summary and no notes: only results, warnings and errors\n"
         "  --version     print the version\n"
         "  --help        ckpt COMMAND --help explains the command\n\n"
         "of every command but devices, eval and eval-merge, which have no sandbox:\n"
         "  --no-sandbox  keep rights that are not needed: to write elsewhere, to start programs ...\n\n"
         "A FILE may be bare or in gzip; what it is, its content says. '-' is standard input or output.\n\n"
         "examples:\n"
         "  ckpt inspect model.pt\n"
         "  ckpt convert model.pt model.cpu.pt --to cpu --strip-prefix\n";
}

Error unknown_command(const std::string& word) {
  if (word.empty() || word[0] != '-') {
    if (::access(word.c_str(), F_OK) == 0) return usage_error("no command given", "ckpt inspect " + shell_word(word));
  }
  std::vector<std::string_view> names;
  names.reserve(table.size());
  for (const Command* command : table) names.push_back(command->name);
  for (const Component& component : components) names.push_back(component.name);
  const auto meant = nearest(word, names);
  return usage_error((word[0] == '-' ? "unknown option '" : "unknown command '") + word + "'",
                     meant ? "ckpt " + std::string(*meant) : "ckpt --help lists the commands");
}

}  // namespace

int run(const std::vector<std::string>& words, Sandbox sandbox) {
  std::vector<std::string> rest(words);
  const auto is_quiet = [](const std::string& word) { return word == "--quiet"; };
  // `--quiet` may stand before the command too.
  const auto at = std::find_if_not(rest.begin(), rest.end(), is_quiet);
  if (at == rest.end()) {
    print(help());
    return exit_usage;
  }
  const std::string word = *at;
  rest.erase(at);
  if (word == "--help" || word == "-h") {
    print(help());
    return exit_done;
  }
  if (word == "--version") {
    print_version();
    return exit_done;
  }
  for (const Component& component : components)
    if (component.name == word) run_component(component, rest);
  const auto named = [&](const Command* command) { return command->name == word; };
  const auto command = std::find_if(table.begin(), table.end(), named);
  if (command == table.end()) throw unknown_command(word);
  return run(**command, rest, sandbox);
}

}  // namespace ckpt::tools
