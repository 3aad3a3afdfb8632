#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

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
  return "ckpt convert " + shell_word(file) + " OUT --root " + shell_value(path.substr(0, path.size() - 1));
}

/// What follows `begin` in each name, as far as all have the same modules.
std::string common_modules(const std::vector<RenamedTensor>& renamed, std::size_t begin) {
  std::string common = renamed.front().b.substr(begin);
  for (const RenamedTensor& pair : renamed) {
    const std::string_view rest = std::string_view(pair.b).substr(begin);
    const auto differs = std::mismatch(common.begin(), common.end(), rest.begin(), rest.end()).first;
    common.erase(differs, common.end());
  }
  return common.substr(0, common.rfind('.') + 1);
}

/// With a backslash before each of these characters.
std::string escaped(const std::string& text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// A prefix is added to every key, and taken from every one that has it, those too that the files have in common: where
/// there are such, an expression has to tell them apart. Empty where none can.
std::string key_command(const DiffReport& report) {
  const auto& [lead, a, b] = *report.diff.prefix;
  std::set<std::string> others;  // that are to stay as they are
  std::set<std::string> in_a;
  for (NamedTensor& tensor : tensor_names(*report.a)) in_a.insert(std::move(tensor.name));
  for (const auto& [name, tensor] : tensor_names(*report.b))
    if (name.starts_with(lead) && (in_a.contains(name) || !name.starts_with(lead + b)))
      others.insert(name.substr(lead.size()));
  const auto are_others = [&](const std::string& prefix) {
    return std::none_of(others.begin(), others.end(), [&](const auto& name) { return name.starts_with(prefix); });
  };
  if (are_others(a.empty() ? b : "")) return prefix_command(report.file_b, b, a);
  const std::string common = b + common_modules(report.diff.renamed, lead.size() + b.size());
  if (common.empty() || !are_others(common)) return {};
  return "ckpt convert " + shell_word(report.file_b) + " OUT --rename " +
         shell_word("^" + escaped(common, R"(\.+*?()|[]{}^$=)") + "=" + escaped(a + common.substr(b.size()), "\\"));
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
  return key_command(report);
}

}  // namespace ckpt::tools
