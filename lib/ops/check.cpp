#include "ckpt/check.h"

#include <algorithm>
#include <unordered_map>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "ckpt/shape.h"
#include "ckpt/state_dict.h"
#include "io/keyed_hash.h"
#include "model/position_index.h"
#include "ops/check_fix.h"
#include "ops/check_keys.h"
#include "ops/copyable.h"
#include "ops/root.h"
#include "ops/unpacked.h"

namespace ckpt {
namespace {

constexpr std::string_view batches = "num_batches_tracked";

/// Versions of modules in `_metadata`, by the modules' names; 0 where none is told.
std::vector<std::pair<std::string_view, std::int64_t>> module_versions(const FoundStateDict& found) {
  const ValueGraph& values = found.facts.checkpoint().values;
  std::vector<std::pair<std::string_view, std::int64_t>> versions;
  const ValueId metadata = state_dict_metadata(values, found.dict.value);
  if (metadata == no_value) return versions;
  for (const MappingEntry& module : mapping_entries(values, metadata))
    if (values.is_string(module.key)) versions.emplace_back(values.text(module.key), found.facts.version(module.value));
  return versions;
}

/// A state dict, or what a model's would be: its tensors by key.
struct Entries {
  struct Entry {
    std::string_view key;
    const std::vector<std::int64_t>* shape = nullptr;  ///< null for None and for extra state
    DType dtype{};
    const Tensor* tensor = nullptr;  ///< null, too, of a model that is known by its shapes and dtypes alone
  };

  explicit Entries(const FoundStateDict& found)
      : path(found.dict.path),
        file(found.facts.checkpoint().file),
        facts(&found.facts),
        modules(module_versions(found)) {
    const ValueGraph& values = found.facts.checkpoint().values;
    const auto entries = mapping_entries(values, found.dict.value);
    all.reserve(entries.size());
    places.reserve(entries.size());
    for (const MappingEntry& entry : entries) {
      const Tensor* const tensor = found.facts.tensor(entry.value);
      if (tensor == nullptr)
        add({values.text(entry.key)});
      else
        add({values.text(entry.key), &tensor->info.shape, tensor->info.dtype, tensor});
    }
  }

  explicit Entries(const std::vector<ModelTensor>& model) {
    for (const ModelTensor& tensor : model) add({tensor.name, &tensor.shape, tensor.dtype});
  }

  void add(const Entry& entry) {
    places.add(hash_of(entry.key), static_cast<std::uint32_t>(all.size()),
               [&](std::uint32_t other) { return all[other].key == entry.key; });
    all.push_back(entry);
  }

  [[nodiscard]] const Entry* find(std::string_view key) const {
    const std::uint32_t found = places.find(hash_of(key), [&](std::uint32_t other) { return all[other].key == key; });
    return found == PositionIndex::nowhere ? nullptr : &all[found];
  }

  [[nodiscard]] std::vector<std::string_view> keys() const {
    std::vector<std::string_view> names;
    names.reserve(all.size());
    for (const Entry& entry : all) names.push_back(entry.key);
    return names;
  }

  std::string path, file;
  const StateDictFacts* facts = nullptr;
  std::vector<std::pair<std::string_view, std::int64_t>> modules;  ///< that `_metadata` names, with their versions
  std::vector<Entry> all;
  PositionIndex places;  ///< of `all`
};

/// The modules of a model, in the order in which PyTorch visits them: each before its children. A tree, a step for each
/// part of a name: the names of all modules would take the square of a long key.
class Modules {
 public:
  explicit Modules(const Entries& entries) : most_(limits::tensor_names + limits::names_a_tensor * entries.all.size()) {
    try {
      // _metadata names modules without parameters, too.
      for (const auto& [name, version] : entries.modules)
        if (!name.empty()) add(add_parents(name));
      for (const Entries::Entry& entry : entries.all) add_parents(entry.key);
    } catch (Error& error) {
      error.in(entries.file);
      throw;
    }
  }

  struct Owner {
    std::size_t place;      ///< of the innermost module that a key leads to
    std::string_view rest;  ///< of the key, which that module does not know
  };
  [[nodiscard]] Owner owner(std::string_view key) const {
    Part part{root, {}};
    for (std::string_view rest = key; next_part(rest, part); key = rest) {
      const auto found = places_.find(part);
      if (found == places_.end()) break;
      part.parent = found->second;
    }
    return {part.parent, key};
  }

 private:
  static constexpr std::size_t root = 0;

  /// A module: what its name adds to that of the module around it.
  struct Part {
    std::size_t parent;
    std::string_view name;
    bool operator==(const Part&) const = default;
  };
  struct PartHash {
    std::size_t operator()(const Part& part) const noexcept { return KeyedHash()(part.name) + part.parent; }
  };

  /// Takes the next part off that a dot ends.
  static bool next_part(std::string_view& key, Part& part) {
    const std::size_t dot = key.find('.');
    if (dot == std::string_view::npos) return false;
    part.name = key.substr(0, dot);
    key.remove_prefix(dot + 1);
    return true;
  }

  /// Adds the modules around `key`; returns its own part.
  Part add_parents(std::string_view key) {
    Part part{root, {}};
    while (next_part(key, part)) part.parent = add(part);
    return {part.parent, key};
  }

  std::size_t add(const Part& part) {
    const std::size_t place = places_.try_emplace(part, places_.size() + 1).first->second;
    if (places_.size() > most_)
      throw Error(ErrorCode::limit_exceeded,
                  "the keys of the state dict name more than " + std::to_string(most_) + " modules");
    return place;
  }

  std::uint64_t most_;
  std::unordered_map<Part, std::size_t, PartHash> places_;
};

class Checker {
 public:
  /// `copied`: whether the ones are to become the others.
  Checker(Entries entries, Entries wanted, bool copied)
      : entries_(std::move(entries)), wanted_(std::move(wanted)), copied_(copied), modules_(wanted_) {
    report_.root = entries_.path;
    report_.like_root = wanted_.path;
  }

  CheckReport run() {
    for (const auto& [name, version] : entries_.modules) versions_[name] = version;
    for (const Entries::Entry& wanted : wanted_.all) {
      if (wanted.shape == nullptr && !may_hold_anything(wanted.key)) continue;  // None: the model has no such parameter
      ++report_.keys;
      const Entries::Entry* const entry = entries_.find(wanted.key);
      if (entry == nullptr)
        add_missing(std::string(wanted.key));
      else if (!may_hold_anything(wanted.key))
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
    const auto version = versions_.find(module.substr(0, module.rfind('.')));
    return version == versions_.end() || version->second < 2;
  }

  void add_missing(std::string key) {
    (is_forgiven(key) ? report_.forgiven : report_.missing).push_back(std::move(key));
  }

  void compare(const Entries::Entry& wanted, const Entries::Entry& entry) {
    std::string name(wanted.key);
    if (entry.shape == nullptr)
      return report_.misfits.push_back({std::move(name), std::nullopt, *wanted.shape, "NoneType"});
    if (copied_ && entry.tensor->array)
      return report_.misfits.push_back({std::move(name), std::nullopt, *wanted.shape, "numpy.ndarray"});
    // Before 0.4 there were no tensors without dimensions; one of a single element loads into one.
    const bool scalar = wanted.shape->empty() && *entry.shape == std::vector<std::int64_t>{1};
    if (*entry.shape != *wanted.shape && !scalar)
      return report_.misfits.push_back({std::move(name), *entry.shape, *wanted.shape, {}});
    if (copied_ && wanted.tensor != nullptr && !wanted.tensor->array) {
      const std::string_view why = why_not_copied(*entry.tensor, *wanted.tensor);
      if (!why.empty()) return report_.misfits.push_back({std::move(name), *wanted.shape, *wanted.shape, why});
    }
    if (entry.dtype != wanted.dtype)
      report_.dtypes.push_back(
          {std::move(name), std::string(dtype_name(entry.dtype)), std::string(dtype_name(wanted.dtype))});
  }

  [[nodiscard]] std::string_view why_not_copied(const Tensor& from, const Tensor& into) const {
    const StateDictFacts &facts = *entries_.facts, &like = *wanted_.facts;
    return ckpt::why_not_copied({facts.checkpoint(), facts.tensors(), from}, {like.checkpoint(), like.tensors(), into});
  }

  /// Module by module; in each its own extra state first, as PyTorch comes to them.
  void add_unexpected() {
    std::vector<std::pair<Modules::Owner, std::string_view>> found;
    for (const Entries::Entry& entry : entries_.all) {
      const Entries::Entry* const wanted = wanted_.find(entry.key);
      const bool known = wanted != nullptr && (wanted->shape != nullptr || may_hold_anything(entry.key));
      if (!known) found.emplace_back(modules_.owner(entry.key), entry.key);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) {
      return std::pair(x.first.place, x.first.rest != extra_state) <
             std::pair(y.first.place, y.first.rest != extra_state);
    });
    for (const auto& [owner, key] : found) report_.unexpected.emplace_back(key);
  }

  Entries entries_, wanted_;
  bool copied_;
  Modules modules_;
  NameViewMap<std::int64_t> versions_;
  CheckReport report_;
};

/// Another state dict of the file whose keys are those that are wanted.
std::optional<CheckFix> other_root(const Checkpoint& checkpoint, const std::vector<StateDict>& dicts,
                                   const std::string& root, const Entries& wanted) {
  for (const StateDict& dict : dicts) {
    if (dict.path == root) continue;
    NameViewSet keys;
    for (const MappingEntry& entry : mapping_entries(checkpoint.values, dict.value))
      keys.insert(checkpoint.values.text(entry.key));
    const bool same =
        keys.size() == wanted.all.size() &&
        std::all_of(keys.begin(), keys.end(), [&](std::string_view key) { return wanted.find(key) != nullptr; });
    if (same) return CheckFix{.root = dict.path};
  }
  return std::nullopt;
}

std::string quoted_list(const std::vector<std::string>& keys) {
  std::string out;
  for (const std::string& key : keys) out += (out.empty() ? "\"" : ", \"") + key + "\"";
  return out;
}

CheckReport check_entries(const Unpacked& unpacked, const StateDict& dict, Entries wanted) {
  const Checkpoint& checkpoint = unpacked.get();
  StateDictFacts facts(checkpoint);
  Checker checker(Entries({facts, dict}), std::move(wanted), true);
  CheckReport report = checker.run();
  if (report.missing.empty() && report.unexpected.empty()) return report;
  report.fix = find_fix(checker.entries().keys(), checker.wanted().keys());
  const std::vector<StateDict> dicts = each_once(find_state_dicts(checkpoint));
  if (report.fix && dicts.size() > 1) report.fix->root = dict.path;
  if (!report.fix) report.fix = other_root(checkpoint, dicts, dict.path, checker.wanted());
  if (!report.fix) return report;
  const std::string& path = report.fix->root.empty() ? dict.path : report.fix->root;
  report.fix->weights_only =
      std::ranges::any_of(unpacked.modules(), [&](const Module& module) { return module.path == path; });
  if (report.fix->root.empty() && !report.fix->weights_only && !path.empty())
    for (std::string& glob : report.fix->drop) glob.insert(0, escaped_glob(path) + ".");
  return report;
}

}  // namespace

StateDictFacts::StateDictFacts(const Checkpoint& checkpoint)
    : checkpoint_(checkpoint), tensors_(tensors_by_value(checkpoint)) {}

const Tensor* StateDictFacts::tensor(ValueId value) const {
  const auto found = tensors_.find(value);
  return found == tensors_.end() ? nullptr : found->second;
}

std::int64_t StateDictFacts::version(ValueId module) {
  const ValueGraph& values = checkpoint_.values;
  const auto [known, fresh] = versions_.try_emplace(module, 0);
  if (fresh && is_mapping(values, module))
    for (const MappingEntry& entry : mapping_entries(values, module))
      if (values.is_string(entry.key, "version") && values.kind(entry.value) == ValueKind::integer)
        known->second = values.integer(entry.value);
  return known->second;
}

CheckReport check_keys(const FoundStateDict& dict, const FoundStateDict& like) {
  return Checker(Entries(dict), Entries(like), false).run();
}

CheckReport check(const Checkpoint& packed, const Checkpoint& packed_like, const CheckOptions& options) {
  const Unpacked unpacked(packed), unpacked_like(packed_like);
  const Checkpoint& like = unpacked_like.get();
  const StateDict dict = find_state_dict(unpacked.get(), options.root), like_dict = [&] {
    try {
      return find_state_dict(like, options.like_root);
    } catch (Error& error) {
      if (error.hint().starts_with("--root ")) error.hint("--like-" + error.hint().substr(2));
      throw;
    }
  }();
  StateDictFacts like_facts(like);
  return check_entries(unpacked, dict, Entries({like_facts, like_dict}));
}

CheckReport check(const Checkpoint& packed, const std::vector<ModelTensor>& model, std::string_view root) {
  const Unpacked unpacked(packed);
  return check_entries(unpacked, find_state_dict(unpacked.get(), root), Entries(model));
}

std::vector<std::string> load_errors(const CheckReport& report) {
  std::vector<std::string> lines;
  if (!report.missing.empty()) lines.push_back("Missing key(s) in state_dict: " + quoted_list(report.missing) + ". ");
  if (!report.unexpected.empty())
    lines.push_back("Unexpected key(s) in state_dict: " + quoted_list(report.unexpected) + ". ");
  const auto size_text = [](const std::vector<std::int64_t>& shape) { return "torch.Size(" + shape_text(shape) + ")"; };
  for (const Misfit& misfit : report.misfits) {
    const std::string copying = "While copying the parameter named \"" + misfit.name + "\", ";
    if (!misfit.shape)
      lines.push_back(copying + "expected torch.Tensor or Tensor-like object from checkpoint but received <class '" +
                      std::string(misfit.why) + "'>");
    else if (misfit.why.empty())
      lines.push_back("size mismatch for " + misfit.name + ": copying a param with shape " + size_text(*misfit.shape) +
                      " from checkpoint, the shape in current model is " + size_text(misfit.like_shape) + ".");
    else
      lines.push_back(copying + "whose dimensions in the model are " + size_text(misfit.like_shape) +
                      " and whose dimensions in the checkpoint are " + size_text(*misfit.shape) +
                      ", an exception occurred : ('" + std::string(misfit.why) + "',).");
  }
  return lines;
}

}  // namespace ckpt
