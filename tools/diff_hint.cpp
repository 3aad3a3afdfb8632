#include <algorithm>

#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "diff_report.h"

namespace ckpt::tools {
namespace {

/// True where `path`, which ends in a dot or is empty, leads to a state dict.
bool leads_to_state_dict(const Checkpoint& checkpoint, const std::string& path) {
  const auto dicts = find_state_dicts(checkpoint);
  return std::any_of(dicts.begin(), dicts.end(),
                     [&](const StateDict& dict) { return dict.path.empty() ? path.empty() : path == dict.path + "."; });
}

std::string root_command(const std::string& file, const std::string& path) {
  return "ckpt convert " + shell_word(file) + " OUT --root " + shell_word(path.substr(0, path.size() - 1));
}

}  // namespace

std::string prefix_hint(const DiffReport& report) {
  if (!report.diff.prefix) return {};
  const auto& [lead, a, b] = *report.diff.prefix;
  // What is no prefix of keys may be the place of the state dict: the one file holds more beside it.
  if (b.empty() && leads_to_state_dict(*report.a, lead + a) && leads_to_state_dict(*report.b, lead))
    return root_command(report.file_a, lead + a);
  if (a.empty() && leads_to_state_dict(*report.b, lead + b) && leads_to_state_dict(*report.a, lead))
    return root_command(report.file_b, lead + b);
  if (!leads_to_state_dict(*report.b, lead)) return {};
  return prefix_command(report.file_b, b, a);
}

}  // namespace ckpt::tools
