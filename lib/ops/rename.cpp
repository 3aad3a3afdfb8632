#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "model/walk.h"
#include "ops/mapping_edit.h"
#include "ops/rename_keys.h"
#include "ops/root.h"

namespace ckpt {
namespace {

/// Rules that are known to be sound, and which of them have matched.
class Rules {
 public:
  explicit Rules(const std::vector<RenameRule>& rules) : rules_(rules), matched_(rules.size()) {
    for (const RenameRule& rule : rules) {
      auto pattern = std::make_unique<re2::RE2>(rule.pattern, re2::RE2::Quiet);
      std::string error = pattern->error();
      if (pattern->ok() && pattern->CheckRewriteString(rule.replacement, &error)) error.clear();
      if (!error.empty())
        throw Error(ErrorCode::invalid_argument,
                    "'" + rule.pattern + "=" + rule.replacement + "' is no rule for names: " + error)
            .expected("an RE2 regular expression and what replaces its matches, in which \\1 is the first group")
            .hint("for example --rename '^encoder\\.layer\\.(\\d+)=blocks.\\1'; \\( and \\. stand for themselves");
      patterns_.push_back(std::move(pattern));
    }
  }

  std::string apply(std::string name) const {
    for (std::size_t i = 0; i < patterns_.size(); ++i)
      re2::RE2::GlobalReplace(&name, *patterns_[i], rules_[i].replacement);
    return name;
  }

  std::optional<std::string> rename(std::string_view key) {
    std::string name(key);
    for (std::size_t i = 0; i < patterns_.size(); ++i)
      if (re2::RE2::GlobalReplace(&name, *patterns_[i], rules_[i].replacement) > 0) matched_[i] = true;
    return name == key ? std::nullopt : std::optional(std::move(name));
  }

  [[nodiscard]] std::vector<std::size_t> idle() const {
    std::vector<std::size_t> idle;
    for (std::size_t i = 0; i < matched_.size(); ++i)
      if (!matched_[i]) idle.push_back(i);
    return idle;
  }

 private:
  const std::vector<RenameRule>& rules_;
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
  std::vector<bool> matched_;
};

/// New names of keys by their old ones.
using Names = std::map<std::string, std::string, std::less<>>;

/// A module is named as the tensors in it are: what follows its name in the first of them has stayed. One without
/// tensors is named as a key that it begins would be, where that makes a module's name.
std::string module_name(const std::string& module, const Names& names, const Rules& rules, NameBudget& budget) {
  const std::string prefix = module + ".";
  for (auto at = names.lower_bound(prefix); at != names.end() && at->first.starts_with(prefix); ++at) {
    budget.spend(prefix.size());
    const std::string_view within = std::string_view(at->first).substr(prefix.size());
    const std::string& name = at->second;
    if (name == within) return "";
    if (name.size() > within.size() && name.ends_with(within) && name[name.size() - within.size() - 1] == '.')
      return name.substr(0, name.size() - within.size() - 1);
  }
  std::string name = rules.apply(prefix);
  if (name.empty()) return name;
  const bool is_modules = name.ends_with('.') && !name.starts_with('.') && name.find("..") == std::string::npos;
  return is_modules ? name.substr(0, name.size() - 1) : module;
}

/// A module that takes the name of another takes its place, as a wrapper's name falls to what it wraps.
void rename_modules(ValueGraph& values, ValueId metadata, const Names& names, const Rules& rules, NameBudget& budget) {
  std::vector<MappingEntry> gone;
  std::map<std::string, MappingEntry> stay;
  const auto entries = mapping_entries(values, metadata);
  std::vector<std::pair<MappingEntry, std::string>> renamed;
  for (const MappingEntry& entry : entries) {
    if (!values.is_string(entry.key)) continue;
    const std::string module(values.text(entry.key));
    std::string name = module.empty() ? module : module_name(module, names, rules, budget);
    if (name == module)
      stay.emplace(std::move(name), entry);
    else
      renamed.emplace_back(entry, std::move(name));
  }
  for (const auto& [entry, name] : renamed) {
    const auto [other, fresh] = stay.emplace(name, entry);
    if (fresh) {
      set_key(values, entry, name);
    } else {
      set_value(values, other->second, entry.value);
      gone.push_back(entry);
    }
  }
  remove_pairs(values, metadata, gone);
}

}  // namespace

std::pair<Checkpoint, RenameReport> rename(Checkpoint checkpoint, const std::vector<RenameRule>& rules) {
  Rules made(rules);
  RenameReport report;
  const auto dicts = each_once(named_dicts(checkpoint));
  report.state_dicts = dicts.size();
  NameBudget budget(checkpoint.file);
  KeyRenamer renamer(checkpoint, "another expression may keep them apart");
  std::unordered_set<ValueId> edited;  // copy.copy() of a state dict shares its _metadata
  for (const StateDict& dict : dicts) {
    Names names;
    const auto rename_key = [&](std::string_view key) {
      auto name = made.rename(key);
      names.emplace(key, name.value_or(std::string(key)));
      return name;
    };
    const RenamedKeys keys = renamer.rename_keys(dict, rename_key);
    report.changed += keys.changed;
    report.unchanged += keys.unchanged;
    const ValueId metadata = state_dict_metadata(checkpoint.values, dict.value);
    if (metadata != no_value && keys.changed > 0 && edited.insert(metadata).second)
      rename_modules(checkpoint.values, metadata, names, made, budget);
  }
  report.idle = made.idle();
  return {std::move(checkpoint), std::move(report)};
}

}  // namespace ckpt
