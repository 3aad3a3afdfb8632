#include "ops/check_fix.h"

#include <algorithm>
#include <set>

#include "ckpt/glob.h"
#include "ckpt/ops.h"
#include "io/keyed_hash.h"
#include "ops/renames.h"

namespace ckpt {
namespace {

using Keys = std::vector<std::string_view>;
using KeySet = NameViewSet;

/// Changes of prefix that are tried, the shortest first: far more than a real pair of files gives rise to.
constexpr std::size_t most_tried = 64;
/// Keys that are named one by one to be dropped.
constexpr std::size_t most_dropped = 4;

/// True where the keys, edited as `convert --strip-prefix=FROM --add-prefix=TO` does, are those of `like`.
bool makes_equal(const Keys& keys, const KeySet& like, const std::string& from, const std::string& to) {
  if (keys.size() != like.size()) return false;
  NameSet edited;
  for (const std::string_view key : keys) {
    std::string name = to + std::string(key.starts_with(from) ? key.substr(from.size()) : key);
    if (!like.contains(name) || !edited.insert(std::move(name)).second) return false;
  }
  return true;
}

std::optional<CheckFix> prefix_fix(const Keys& keys, const KeySet& own, const Keys& like, const KeySet& wanted) {
  const auto odd = std::find_if(keys.begin(), keys.end(), [&](std::string_view key) { return !wanted.contains(key); });
  if (odd == keys.end() || keys.size() != wanted.size()) return std::nullopt;
  const auto shorter = [](const RenamedPrefix& x, const RenamedPrefix& y) {
    return std::pair(x.a.size() + x.b.size(), std::pair(x.a, x.b)) <
           std::pair(y.a.size() + y.b.size(), std::pair(y.a, y.b));
  };
  std::set<RenamedPrefix, decltype(shorter)> changes(shorter);
  for (const std::string_view key : like) {
    if (own.contains(key) || key.size() > longest_renamed || odd->size() > longest_renamed) continue;
    RenamedPrefix change = prefix_change(*odd, key);
    change.a.insert(0, change.lead);
    change.b.insert(0, change.lead);
    // Where a prefix was put before a key, the part they share is no part of it.
    if (change.a.size() == odd->size() || change.b.size() == key.size()) continue;
    changes.insert(std::move(change));
    if (changes.size() > most_tried) changes.erase(std::prev(changes.end()));
  }
  for (const RenamedPrefix& change : changes)
    if (makes_equal(keys, wanted, change.a, change.b))
      return CheckFix{.strip_prefix = change.a, .add_prefix = change.b};
  return std::nullopt;
}

/// The longest run of whole parts that all names begin with, dot included.
std::string shared_module(const Keys& names) {
  std::string_view shared = names.front();
  for (const std::string_view name : names) {
    const auto [end, other] = std::mismatch(shared.begin(), shared.end(), name.begin(), name.end());
    shared = shared.substr(0, static_cast<std::size_t>(end - shared.begin()));
  }
  const std::size_t dot = shared.rfind('.');
  return dot == std::string_view::npos ? std::string() : std::string(shared.substr(0, dot + 1));
}

std::optional<CheckFix> drop_fix(const Keys& keys, const KeySet& own, const Keys& like, const KeySet& wanted) {
  if (!std::all_of(like.begin(), like.end(), [&](std::string_view key) { return own.contains(key); }))
    return std::nullopt;
  Keys extra;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(extra),
               [&](std::string_view key) { return !wanted.contains(key); });
  if (extra.empty()) return std::nullopt;
  CheckFix fix;
  const std::string module = shared_module(extra);
  const bool module_is_extra = !module.empty() && std::none_of(like.begin(), like.end(), [&](std::string_view key) {
    return key.starts_with(module);
  });
  if (module_is_extra)
    fix.drop.push_back(escaped_glob(module) + "*");
  else if (extra.size() <= most_dropped)
    for (const std::string_view key : extra) fix.drop.push_back(escaped_glob(key));
  else
    return std::nullopt;
  return fix;
}

}  // namespace

std::string fix_command(const CheckReport& report, const std::string& file) {
  if (!report.fix) return {};
  const CheckFix& fix = *report.fix;
  const std::string files = shell_word(file) + " OUT";
  std::string options = fix.root.empty() ? "" : " --root " + shell_value(fix.root);
  if (fix.weights_only) options += " --weights-only";
  if (options.empty() && fix.drop.empty()) return prefix_command(file, fix.strip_prefix, fix.add_prefix);
  const auto add_prefix = [&](const std::string& option, const std::string& prefix) {
    if (!prefix.empty()) options += " " + option + (prefix == data_parallel_prefix ? "" : "=" + shell_value(prefix));
  };
  add_prefix("--strip-prefix", fix.strip_prefix);
  add_prefix("--add-prefix", fix.add_prefix);
  for (const std::string& glob : fix.drop) options += " --drop " + shell_value(glob);
  return "ckpt convert " + files + options;
}

std::optional<CheckFix> find_fix(const Keys& keys, const Keys& like) {
  const KeySet own(keys.begin(), keys.end()), wanted(like.begin(), like.end());
  if (auto fix = prefix_fix(keys, own, like, wanted)) return fix;
  return drop_fix(keys, own, like, wanted);
}

}  // namespace ckpt
