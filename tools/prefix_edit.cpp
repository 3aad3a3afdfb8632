#include "prefix_edit.h"

#include <memory>
#include <utility>

#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "console/messages.h"
#include "console/render.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

std::string quoted(const std::string& prefix) { return "\"" + prefix + "\""; }

/// `option`: of convert, which does the same.
void note_no_state_dict(const Checkpoint& checkpoint, const std::string& option, const std::string& prefix) {
  print_note(checkpoint.file + ": no state dict was found, so no key was changed");
  const std::string options = weights_only_options(checkpoint, find_parts(checkpoint));
  if (options.empty()) return;
  print_hint("a whole module is no state dict: ckpt convert " + shell_word(checkpoint.file) + " OUT " + options + " " +
             option + (prefix == data_parallel_prefix ? "" : "=" + shell_value(prefix)) +
             " makes one of it, and edits that");
}

void note_unchanged(const Checkpoint& checkpoint, const PrefixReport& report, const std::string& prefix) {
  if (report.state_dicts == 0) return note_no_state_dict(checkpoint, "--strip-prefix", prefix);
  if (report.changed > 0 && report.unchanged == 0) return;
  if (report.changed > 0) {
    return print_note(checkpoint.file + ": " + count_text(report.unchanged, "key") + " without " + quoted(prefix) +
                      (report.unchanged == 1 ? " stays as it is: " : " stay as they are: ") +
                      list_text(report.left, report.unchanged));
  }
  print_note(checkpoint.file + ": no key starts with " + quoted(prefix) + ", so there was nothing to strip");
  if (report.shared_prefix.empty()) return;
  print_hint(std::string(report.state_dicts == 1 ? "every key" : "every key of the largest state dict") +
             " starts with " + quoted(report.shared_prefix) + ": ckpt strip-prefix " +
             (checkpoint.file == "standard input" ? "IN" : shell_word(checkpoint.file)) + " OUT --prefix " +
             shell_value(report.shared_prefix));
}

}  // namespace

void check_prefixes(const std::vector<std::string>& prefixes, const std::string& option) {
  for (const std::string& prefix : prefixes) {
    if (prefix.empty()) throw usage_error("an empty prefix changes nothing", option + " module.");
    if (prefix.back() != '.') print_warning("prefix " + quoted(prefix) + " does not end in a dot");
  }
}

Checkpoint strip_prefixes(Checkpoint checkpoint, const std::vector<std::string>& prefixes,
                          std::vector<std::string>& done, bool quiet) {
  for (const std::string& prefix : prefixes) {
    auto [edited, report] = strip_prefix(std::move(checkpoint), prefix);
    checkpoint = std::move(edited);
    const std::size_t keys = report.changed + report.unchanged;
    if (keys > 0)
      done.push_back("prefix " + quoted(prefix) + " taken from " + count_text(report.changed) + " of " +
                     count_text(keys, "key"));
    if (!quiet) note_unchanged(checkpoint, report, prefix);
  }
  return checkpoint;
}

Checkpoint add_prefixes(Checkpoint checkpoint, const std::vector<std::string>& prefixes, std::vector<std::string>& done,
                        bool quiet) {
  for (const std::string& prefix : prefixes) {
    auto [edited, report] = add_prefix(std::move(checkpoint), prefix);
    checkpoint = std::move(edited);
    if (report.changed > 0)
      done.push_back("prefix " + quoted(prefix) + " added to " + count_text(report.changed, "key"));
    if (!quiet && report.state_dicts == 0) note_no_state_dict(checkpoint, "--add-prefix", prefix);
    if (!quiet && !report.passed_over.empty())
      print_note(checkpoint.file +
                 ": no model's, and left as they are: " + list_text(report.passed_over, report.passed_over.size()));
  }
  return checkpoint;
}

Runner define_prefix_edit(Arguments& arguments, const std::string& command, PrefixEdit edit, const std::string& help) {
  struct Options {
    WritingOptions writing;
    std::vector<std::string> prefixes;
  };
  const auto options = std::make_shared<Options>();
  arguments.values("--prefix", "P", options->prefixes, help);
  define_writing_options(arguments, options->writing);
  return [options, command, edit](bool quiet) {
    const Job job = plan(options->writing, command);
    const std::vector<std::string> standard{std::string(data_parallel_prefix)};
    const std::vector<std::string>& prefixes = options->prefixes.empty() ? standard : options->prefixes;
    check_prefixes(prefixes, "--prefix");
    std::vector<std::string> done;
    Checkpoint edited = edit(load_input(job), prefixes, done, quiet);
    write_output(std::move(edited), job, done, quiet);
    return static_cast<int>(exit_done);
  };
}

}  // namespace ckpt::tools
