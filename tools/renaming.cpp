#include "renaming.h"

#include <utility>

#include "console/messages.h"
#include "console/render.h"

namespace ckpt::tools {

std::vector<RenameRule> rename_rules(const std::vector<std::string>& texts) {
  std::vector<RenameRule> rules;
  for (const std::string& text : texts) {
    std::size_t at = 0;
    while (at < text.size() && text[at] != '=') at += text[at] == '\\' ? 2 : 1;
    if (at >= text.size() || at == 0)
      throw usage_error("--rename takes REGEX=REPL, not '" + text + "'", R"(--rename '^encoder\.(\d+)=blocks.\1')");
    rules.push_back({text.substr(0, at), text.substr(at + 1)});
  }
  return rules;
}

Checkpoint rename_keys(Checkpoint checkpoint, const std::vector<RenameRule>& rules, std::vector<std::string>& done) {
  if (rules.empty()) return checkpoint;
  auto [renamed, report] = rename(std::move(checkpoint), rules);
  for (const std::size_t rule : report.idle)
    print_warning(renamed.file + ": --rename '" + rules[rule].pattern + "=" + rules[rule].replacement +
                  (report.state_dicts == 0 ? "': there is no state dict" : "' matches no key"));
  if (report.state_dicts > 0)
    done.push_back(count_text(report.changed) + " of " + count_text(report.changed + report.unchanged, "key") +
                   " renamed");
  return std::move(renamed);
}

}  // namespace ckpt::tools
