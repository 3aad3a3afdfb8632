#include "prefix_edit.h"

#include <utility>

#include "ckpt/ops.h"
#include "messages.h"
#include "render.h"
#include "text.h"

namespace ckpt::tools {
namespace {

std::string quoted(const std::string& prefix) { return "\"" + prefix + "\""; }

void note_no_state_dict(const Checkpoint& checkpoint) {
  print_note(checkpoint.file + ": no state dict was found, so no key was changed");
}

void note_unchanged(const Checkpoint& checkpoint, const PrefixReport& report, const std::string& prefix) {
  if (report.state_dicts == 0) return note_no_state_dict(checkpoint);
  if (report.changed > 0 && report.unchanged == 0) return;
  if (report.changed > 0) {
    return print_note(checkpoint.file + ": " + count_text(report.unchanged, "key") + " without " + quoted(prefix) +
                      (report.unchanged == 1 ? " stays as it is: " : " stay as they are: ") +
                      list_text(report.left, report.unchanged));
  }
  print_note(checkpoint.file + ": no key starts with " + quoted(prefix) + ", so there was nothing to strip");
  if (report.shared_prefix.empty()) return;
  print_hint("every key starts with " + quoted(report.shared_prefix) + ": ckpt strip-prefix " +
             (checkpoint.file == "standard input" ? "IN" : shell_word(checkpoint.file)) + " OUT --prefix " +
             shell_word(report.shared_prefix));
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
    if (!quiet && report.state_dicts == 0) note_no_state_dict(checkpoint);
  }
  return checkpoint;
}

}  // namespace ckpt::tools
