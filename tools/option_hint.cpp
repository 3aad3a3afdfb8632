#include "option_hint.h"

#include <algorithm>
#include <iterator>

#include "ckpt/error.h"

namespace ckpt::tools {
namespace {

struct Changes {
  std::string out;      ///< in place of OUT; empty: as it was given
  std::string without;  ///< an option and its value
  bool dry_run = true;
};

/// The command as it was given, but for the changes.
std::string command_line(const Job& job, const Changes& changes) {
  const auto out = std::find(job.words.rbegin(), job.words.rend(), job.out);
  std::string line = "ckpt " + job.command;
  bool only_files = false;
  for (auto word = job.words.begin(); word != job.words.end(); ++word) {
    const bool is_out = !changes.out.empty() && std::next(word) == out.base();
    const bool is_option = !only_files && word->starts_with("--");
    if (is_out && !job.in_place)
      line += " " + changes.out;
    else if (is_option && *word == "--")
      only_files = true;
    else if (is_option && *word == changes.without)
      ++word;
    else if (is_option &&
             ((!changes.without.empty() && word->starts_with(changes.without + "=")) ||
              (!changes.dry_run && *word == "--dry-run") || (!changes.out.empty() && *word == "--in-place")))
      continue;
    else
      line += " " + (only_files ? shell_word(*word) : shell_value(*word));
  }
  return job.in_place && !changes.out.empty() ? line + " " + changes.out : line;
}

/// Else it takes the place of the one that was given.
bool is_repeatable(const std::string& option) { return option == "--drop" || option == "--weights-only"; }

/// Where the command cannot name another format, the input is converted first.
std::string format_hint(const Job& job, const std::string& options, const std::string& in) {
  if (job.command == "convert" || job.command == "recover")
    return command_line(job, {.out = "OUT", .without = "--format"}) + " " + options;
  const std::string convert = "ckpt convert " + shell_word(in);
  if (job.command == "shard") return convert + " OUT " + options;
  return "first " + convert + " OTHER " + options;
}

}  // namespace

std::string option_hint(const Job& job, const std::string& options, const std::string& in) {
  if (options.starts_with("--format")) return format_hint(job, options, in);
  const std::string first = options.substr(0, options.find(' '));
  const Changes changes{.out = "", .without = is_repeatable(first) ? "" : first};
  if (job.command == "shard") return command_line(job, changes) + " " + options.substr(0, options.find("; --format"));
  if (job.command == "convert" && !job.renames) return command_line(job, changes) + " " + options;
  const std::string format = job.save.format.empty() ? "" : " --format " + job.save.format;
  return command_line(job, {.out = "OTHER.pt", .without = "--format", .dry_run = false}) +
         " first, then ckpt convert OTHER.pt " + shell_word(job.out) + format + " " + options;
}

}  // namespace ckpt::tools
