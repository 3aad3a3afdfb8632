#include "option_hint.h"

#include <vector>

#include "ckpt/error.h"

namespace ckpt::tools {
namespace {

struct Changes {
  std::vector<std::string> without;  ///< names of options
  std::string out;                   ///< in place of OUT, or of replacing the input; empty: as it was given
  std::string command;               ///< empty: the same
};

/// The command as it was given, but for the changes.
std::string command_line(const Job& job, Changes changes) {
  std::vector<std::string> files = job.files;
  if (!changes.out.empty()) {
    if (!job.in_place) files.pop_back();
    files.push_back(changes.out);
    changes.without.emplace_back("--in-place");
  }
  return command_text(changes.command.empty() ? job.command : changes.command, files, job.options, changes.without);
}

/// Else it takes the place of the one that was given.
bool is_repeatable(const std::string& option) { return option == "--drop" || option == "--weights-only"; }

/// Where the command cannot name another format, the input is converted first.
std::string format_hint(const Job& job, const std::string& options, const std::string& in) {
  const Changes changes{.without = {"--format", "--shard-size", "--max-size"},
                        .out = "OUT",
                        .command = job.command == "shard" ? "convert" : ""};
  if (job.command == "convert" || job.command == "recover" || job.command == "shard")
    return command_line(job, changes) + " " + options;
  return "first ckpt convert " + shell_word(in) + " OTHER " + options;
}

}  // namespace

std::string option_hint(const Job& job, const std::string& options, const std::string& in) {
  if (options.starts_with("--format")) return format_hint(job, options, in);
  Changes changes;
  const std::string first = options.substr(0, options.find(' '));
  if (!is_repeatable(first)) changes.without.push_back(first);
  if (first == "--root") changes.without.emplace_back("--weights-only");  // whose paths are other ones
  if (job.command == "shard") return command_line(job, changes) + " " + options.substr(0, options.find("; --format"));
  // A state dict is taken out before anything is renamed.
  if (job.command == "convert" && (!job.renames || first == "--weights-only"))
    return command_line(job, changes) + " " + options;
  std::string then = "ckpt convert OTHER.pt " + shell_word(job.out);
  for (const GivenOption& option : job.options)
    if (option.name == "--format" || option.name == "--shard-size") then += " " + option.text;
  return command_line(job, {.without = {"--format", "--shard-size", "--dry-run"}, .out = "OTHER.pt", .command = ""}) +
         " first, then " + then + " " + options;
}

}  // namespace ckpt::tools
