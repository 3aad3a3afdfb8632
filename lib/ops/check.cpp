#include "ckpt/check.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ckpt/error.h"
#include "ckpt/state_dict.h"
#include "ops/check_fix.h"
#include "ops/root.h"

namespace ckpt {
namespace {

constexpr std::string_view extra_state = "_extra_state";
constexpr std::string_view batches = "num_batches_tracked";

/// The module that a key belongs to, dot included: "bn." of "bn.weight"; empty for the root.
std::string_view module_of(std::string_view key) { return key.substr(0, key.rfind('.') + 1); }

bool is_extra_state(std::string_view key) { return key.substr(module_of(key).size()) == extra_state; }

/// A state dict with its tensors by key.
struct Entries {
  struct Entry {
    std::string_view key;
    const Tensor* tensor = nullptr;  ///< null for None and for extra state
    ValueId value = no_value;
  };

  Entries(const Checkpoint& checkpoint, const StateDict& dict) : path(dict.path) {
    std::unordered_map<ValueId, const Tensor*> tensors;
    for (const Tensor& tensor : checkpoint.tensors) tensors.emplace(tensor.value, &tensor);
    for (const MappingEntry& entry : mapping_entries(checkpoint.values, dict.value)) {
      const auto found = tensors.find(entry.value);
      places.emplace(checkpoint.values.text(entry.key), all.size());
      all.push_back({checkpoint.values.text(entry.key), found == tensors.end() ? nullptr : found->second, entry.value});
    }
  }

  [[nodiscard]] const Entry* find(std::string_view key) const {
    const auto found = places.find(key);
    return found == places.end() ? nullptr : &all[found->second];
  }

  [[nodiscard]] std::vector<std::string_view> keys() const {
    std::vector<std::string_view> names;
    names.reserve(all.size());
    for (const Entry& entry : all) names.push_back(entry.key);
    return names;
  }

  std::string path;
  std::vector<Entry> all;
  std::unordered_map<std::string_view, std::size_t> places;
};

/// Versions of modules in `_metadata`, by the modules' names; 0 where none is told.
std::vector<std::pair<std::string, std::int64_t>> module_versions(const ValueGraph& values, ValueId dict) {
  std::vector<std::pair<std::string, std::int64_t>> versions;
  const ValueId metadata = state_dict_metadata(values, dict);
  if (metadata == no_value) return versions;
  for (const MappingEntry& module : mapping_entries(values, metadata)) {
    if (!values.is_string(module.key)) continue;
    std::int64_t version = 0;
    if (is_mapping(values, module.value))
      for (const MappingEntry& entry : mapping_entries(values, module.value))
        if (values.is_string(entry.key) && values.text(entry.key) == "version" &&
            values.kind(entry.value) == ValueKind::integer)
          version = values.integer(entry.value);
    versions.emplace_back(std::string(values.text(module.key)), version);
  }
  return versions;
}

/// The modules of a model, in the order in which PyTorch visits them: each before its children.
class Modules {
 public:
  Modules(const ValueGraph& values, ValueId dict, const Entries& entries) {
    // _metadata names modules without parameters, too.
    for (const auto& [name, version] : module_versions(values, dict)) add(name.empty() ? name : name + ".");
    for (const Entries::Entry& entry : entries.all)
      for (std::size_t dot = entry.key.find('.'); dot != std::string_view::npos; dot = entry.key.find('.', dot + 1))
        add(std::string(entry.key.substr(0, dot + 1)));
  }

  /// The place of the innermost module that the key leads to: it is the one that does not know the rest.
  [[nodiscard]] std::size_t owner(std::string_view key) const {
    std::size_t place = 0;
    for (std::size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1)) {
      const auto found = places_.find(std::string(key.substr(0, dot + 1)));
      if (found == places_.end()) break;
      place = found->second;
    }
    return place;
  }

 private:
  void add(std::string module) { places_.emplace(std::move(module), places_.size()); }

  std::unordered_map<std::string, std::size_t> places_{{"", 0}};
};

StateDict state_dict_at(const Checkpoint& checkpoint, const std::string& root) {
  const std::string path = resolve_root(checkpoint, root);
  for (StateDict& dict : find_state_dicts(checkpoint))
    if (dict.path == path) return std::move(dict);
  throw Error(ErrorCode::invalid_argument,
              path.empty() ? "the root is no state dict" : "no state dict lies at '" + path + "'")
      .expected("a mapping of names to tensors")
      .in(checkpoint.file)
      .hint("ckpt inspect " + checkpoint.file + " lists the state dicts");
}

class Checker {
 public:
  Checker(const Checkpoint& checkpoint, const StateDict& dict, const Checkpoint& like, const StateDict& like_dict)
      : values_(checkpoint.values),
        dict_(dict),
        entries_(checkpoint, dict),
        wanted_(like, like_dict),
        modules_(like.values, like_dict.value, wanted_) {
    report_.root = dict.path;
    report_.like_root = like_dict.path;
  }

  CheckReport run() {
    for (const auto& [name, version] : module_versions(values_, dict_.value))
      versions_[name.empty() ? name : name + "."] = version;
    for (const Entries::Entry& wanted : wanted_.all) {
      if (wanted.tensor == nullptr && !is_extra_state(wanted.key)) continue;  // None: the model has no such parameter
      ++report_.keys;
      const Entries::Entry* const entry = entries_.find(wanted.key);
      if (entry == nullptr)
        add_missing(std::string(wanted.key));
      else if (!is_extra_state(wanted.key))
        compare(wanted, *entry);
    }
    add_unexpected();
    return std::move(report_);
  }

  [[nodiscard]] const Entries& entries() const { return entries_; }
  [[nodiscard]] const Entries& wanted() const { return wanted_; }

 private:
  /// torch/nn/modules/batchnorm.py: before version 2, norms had no num_batches_tracked.
  bool is_forgiven(std::string_view key) const {
    const std::string_view module = module_of(key);
    if (key.substr(module.size()) != batches || wanted_.find(std::string(module) + "running_mean") == nullptr)
      return false;
    const auto version = versions_.find(std::string(module));
    return version == versions_.end() || version->second < 2;
  }

  void add_missing(std::string key) {
    (is_forgiven(key) ? report_.forgiven : report_.missing).push_back(std::move(key));
  }

  void compare(const Entries::Entry& wanted, const Entries::Entry& entry) {
    const TensorInfo& like = wanted.tensor->info;
    std::string name(wanted.key);
    if (entry.tensor == nullptr) return report_.sizes.push_back({std::move(name), std::nullopt, like.shape});
    const TensorInfo& info = entry.tensor->info;
    // Before 0.4 there were no tensors without dimensions; one of a single element loads into one.
    const bool scalar = like.shape.empty() && info.shape == std::vector<std::int64_t>{1};
    if (info.shape != like.shape && !scalar) return report_.sizes.push_back({std::move(name), info.shape, like.shape});
    if (info.dtype != like.dtype)
      report_.dtypes.push_back(
          {std::move(name), std::string(dtype_name(info.dtype)), std::string(dtype_name(like.dtype))});
  }

  /// Module by module; in each its extra state first, as PyTorch comes to them.
  void add_unexpected() {
    std::vector<std::pair<std::size_t, std::string_view>> found;
    for (const Entries::Entry& entry : entries_.all) {
      const Entries::Entry* const wanted = wanted_.find(entry.key);
      const bool known = wanted != nullptr && (wanted->tensor != nullptr || is_extra_state(entry.key));
      if (!known) found.emplace_back(modules_.owner(entry.key), entry.key);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) {
      return std::pair(x.first, !is_extra_state(x.second)) < std::pair(y.first, !is_extra_state(y.second));
    });
    for (const auto& [owner, key] : found) report_.unexpected.emplace_back(key);
  }

  const ValueGraph& values_;
  StateDict dict_;
  Entries entries_, wanted_;
  Modules modules_;
  std::unordered_map<std::string, std::int64_t> versions_;
  CheckReport report_;
};

/// Another state dict of the file whose keys are those that are wanted.
std::optional<CheckFix> other_root(const Checkpoint& checkpoint, const std::string& root, const Entries& wanted) {
  for (const StateDict& dict : find_state_dicts(checkpoint)) {
    if (dict.path == root) continue;
    const Entries entries(checkpoint, dict);
    const bool same = entries.places.size() == wanted.places.size() &&
                      std::all_of(entries.all.begin(), entries.all.end(),
                                  [&](const auto& entry) { return wanted.find(entry.key) != nullptr; });
    if (same) return CheckFix{{}, {}, {}, dict.path};
  }
  return std::nullopt;
}

std::string quoted_list(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "\"" : ", \"") + key + "\"";
  return out;
}

std::string torch_size(const std::vector<std::int64_t>& shape) {
  std::string out = "torch.Size([";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "])";
}

}  // namespace

CheckReport check(const Checkpoint& checkpoint, const Checkpoint& like, const CheckOptions& options) {
  const StateDict dict = state_dict_at(checkpoint, options.root), like_dict = [&] {
    try {
      return state_dict_at(like, options.like_root);
    } catch (Error& error) {
      if (error.hint().starts_with("--root ")) error.hint("--like-" + error.hint().substr(2));
      throw;
    }
  }();
  Checker checker(checkpoint, dict, like, like_dict);
  CheckReport report = checker.run();
  if (report.missing.empty() && report.unexpected.empty()) return report;
  report.fix = find_fix(checker.entries().keys(), checker.wanted().keys());
  if (!report.fix) report.fix = other_root(checkpoint, dict.path, checker.wanted());
  if (report.fix && !dict.path.empty())
    for (std::string& glob : report.fix->drop) glob.insert(0, dict.path + ".");
  return report;
}

std::vector<std::string> load_errors(const CheckReport& report) {
  std::vector<std::string> lines;
  if (!report.missing.empty()) lines.push_back("Missing key(s) in state_dict: " + quoted_list(report.missing) + ". ");
  if (!report.unexpected.empty())
    lines.push_back("Unexpected key(s) in state_dict: " + quoted_list(report.unexpected) + ". ");
  for (const SizeMismatch& size : report.sizes) {
    if (size.shape)
      lines.push_back("size mismatch for " + size.name + ": copying a param with shape " + torch_size(*size.shape) +
                      " from checkpoint, the shape in current model is " + torch_size(size.like_shape) + ".");
    else
      lines.push_back("While copying the parameter named \"" + size.name +
                      "\", expected torch.Tensor or Tensor-like object from checkpoint but received "
                      "<class 'NoneType'>");
  }
  return lines;
}

}  // namespace ckpt
