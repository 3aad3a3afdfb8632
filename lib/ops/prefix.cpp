#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "model/find_entry.h"
#include "ops/mapping_edit.h"
#include "ops/rename_keys.h"
#include "ops/root.h"

namespace ckpt {
namespace {

/// By value what was copied: state dicts that share an entry go on sharing its copy.
using Copies = std::unordered_map<ValueId, ValueId>;

/// The module that a prefix names: "module" for "module.".
std::string_view module_name(std::string_view prefix) {
  return prefix.ends_with('.') ? prefix.substr(0, prefix.size() - 1) : std::string_view();
}

void strip_metadata(ValueGraph& values, ValueId metadata, std::string_view prefix) {
  // Looked up before anything is renamed: under two wrappers, "module.module" becomes another "module".
  const auto entries = mapping_entries(values, metadata);
  const std::string_view wrapped = module_name(prefix);
  const MappingEntry* const module = wrapped.empty() ? nullptr : find_entry(values, entries, wrapped);
  const MappingEntry* const wrapper = find_entry(values, entries, "");
  std::vector<MappingEntry> gone;
  std::unordered_map<std::string, MappingEntry> stay;  // of a name that another gets: it gives way, as its weights did
  const auto pairs = mapping_pairs(values, metadata);
  for (const MappingEntry& entry : pairs)
    if (values.is_string(entry.key) && values.text(entry.key) != wrapped) stay.emplace(values.text(entry.key), entry);
  for (const MappingEntry& entry : pairs) {
    if (!values.is_string(entry.key)) continue;
    const std::string name(values.text(entry.key));
    if (!name.starts_with(prefix)) continue;
    const auto other = stay.find(name.substr(prefix.size()));
    if (other == stay.end() || other->first.starts_with(prefix)) {
      set_key(values, entry, std::string_view(name).substr(prefix.size()));
    } else {
      set_value(values, other->second, entry.value);
      gone.push_back(entry);
    }
  }
  // The wrapper's own entry, under the empty name, gives way to the module's.
  if (module != nullptr && wrapper == nullptr) set_key(values, *module, "");
  if (module != nullptr && wrapper != nullptr) {
    set_value(values, *wrapper, module->value);
    gone.push_back(*module);
  }
  remove_pairs(values, metadata, gone);  // where the others are changes with it
}

/// A dict with the same entries: two names of _metadata never share one.
ValueId copy_entry(ValueGraph& values, ValueId value) {
  if (values.kind(value) != ValueKind::dict) return value;
  std::vector<ValueId> pairs;
  for (const MappingEntry& entry : mapping_entries(values, value)) pairs.insert(pairs.end(), {entry.key, entry.value});
  const ValueId copy = values.make_container(ValueKind::dict);
  values.add_effect(copy, EffectKind::set_items, pairs);
  return copy;
}

void add_to_metadata(ValueGraph& values, ValueId metadata, std::string_view prefix, Copies& copies) {
  for (const MappingEntry& entry : mapping_pairs(values, metadata)) {
    if (!values.is_string(entry.key) || values.text(entry.key).empty()) continue;
    set_key(values, entry, std::string(prefix) + std::string(values.text(entry.key)));
  }
  const auto entries = mapping_entries(values, metadata);
  const MappingEntry* const wrapper = find_entry(values, entries, "");
  const std::string_view wrapped = module_name(prefix);
  if (wrapper == nullptr || wrapped.empty()) return;
  const ValueId module = values.make_text(values.kind(wrapper->key), wrapped);
  const auto [copy, fresh] = copies.try_emplace(wrapper->value, no_value);
  if (fresh) copy->second = copy_entry(values, wrapper->value);
  insert_pair_after(values, metadata, *wrapper, module, copy->second);
}

std::string find_shared_prefix(const Checkpoint& checkpoint, const std::vector<StateDict>& dicts) {
  std::vector<MappingEntry> largest;
  for (const StateDict& dict : dicts) {
    auto entries = mapping_entries(checkpoint.values, dict.value);
    if (entries.size() > largest.size()) largest = std::move(entries);
  }
  for (const std::string_view prefix : wrapper_prefixes) {
    const bool shared = std::all_of(largest.begin(), largest.end(), [&](const MappingEntry& entry) {
      return checkpoint.values.is_string(entry.key) && checkpoint.values.text(entry.key).starts_with(prefix);
    });
    if (shared && !largest.empty()) return std::string(prefix);
  }
  return {};
}

constexpr std::size_t shown_keys = 3;

using EditMetadata = std::function<void(ValueGraph& values, ValueId metadata)>;

/// `dicts`: those to edit, each once.
std::pair<Checkpoint, PrefixReport> edit(Checkpoint checkpoint, const std::vector<StateDict>& dicts,
                                         std::string_view prefix, const RenameKey& rename,
                                         const EditMetadata& edit_metadata) {
  if (prefix.empty())
    throw Error(ErrorCode::invalid_argument, "the prefix is empty").expected("a name such as module.");
  PrefixReport report;
  report.state_dicts = dicts.size();
  KeyRenamer renamer(checkpoint, "another --prefix may keep them apart");
  std::unordered_set<ValueId> edited;  // copy.copy() of a state dict shares its _metadata
  for (const StateDict& dict : dicts) {
    const std::size_t before = report.changed;
    const RenamedKeys keys = renamer.rename_keys(dict, rename);
    report.changed += keys.changed;
    report.unchanged += keys.unchanged;
    for (const std::string& key : keys.left)
      if (report.left.size() < shown_keys) report.left.push_back(key);
    const ValueId metadata = state_dict_metadata(checkpoint.values, dict.value);
    if (metadata != no_value && report.changed > before && edited.insert(metadata).second)
      edit_metadata(checkpoint.values, metadata);
  }
  if (report.changed == 0) report.shared_prefix = find_shared_prefix(checkpoint, dicts);
  return {std::move(checkpoint), std::move(report)};
}

}  // namespace

std::pair<Checkpoint, PrefixReport> strip_prefix(Checkpoint checkpoint, std::string_view prefix) {
  const auto rename = [&](std::string_view key) -> std::optional<std::string> {
    if (!key.starts_with(prefix)) return std::nullopt;
    return std::string(key.substr(prefix.size()));
  };
  const auto dicts = each_once(named_dicts(checkpoint));
  return edit(std::move(checkpoint), dicts, prefix, rename,
              [&](ValueGraph& values, ValueId metadata) { strip_metadata(values, metadata, prefix); });
}

std::pair<Checkpoint, PrefixReport> add_prefix(Checkpoint checkpoint, std::string_view prefix) {
  const auto rename = [&](std::string_view key) -> std::optional<std::string> {
    return std::string(prefix) + std::string(key);
  };
  const ModelDicts dicts = model_dicts(checkpoint.values, named_dicts(checkpoint));
  Copies copies;
  auto edited = edit(std::move(checkpoint), each_once(dicts.models), prefix, rename,
                     [&](ValueGraph& values, ValueId metadata) { add_to_metadata(values, metadata, prefix, copies); });
  for (const StateDict& other : dicts.others) edited.second.passed_over.push_back(other.path);
  return edited;
}

std::string prefix_command(const std::string& file, const std::string& strip, const std::string& add) {
  const std::string files = shell_word(file) + " OUT";
  const auto option = [](const std::string& prefix) {
    return prefix == data_parallel_prefix ? "" : " --prefix " + shell_value(prefix);
  };
  if (add.empty()) return "ckpt strip-prefix " + files + option(strip);
  if (strip.empty()) return "ckpt add-prefix " + files + option(add);
  return "ckpt convert " + files + " --strip-prefix=" + shell_value(strip) + " --add-prefix=" + shell_value(add);
}

}  // namespace ckpt
