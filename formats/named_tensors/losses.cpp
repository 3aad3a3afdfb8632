#include "named_tensors/losses.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "model/pair_lists.h"
#include "model/python_str.h"
#include "model/walk.h"
#include "ops/root.h"
#include "ops/value_view.h"

namespace ckpt::named_tensors {
namespace {

constexpr std::size_t named_others = 3;

/// What a checkpoint is made of beside tensors under names.
struct Survey {
  struct Other {
    std::string path;
    std::string entry;  ///< of a mapping, in which it stands: what can be dropped; empty for none
  };
  std::vector<Other> others;  ///< values that are no tensors, the first few
  bool more_others = false;
  bool nested = false, attributes = false, other_keys = false;
  std::optional<Error> object_key;  ///< of the first that has no text
};

/// Looks at every value once, whatever number of paths lead to it.
class Surveyor {
 public:
  explicit Surveyor(const Checkpoint& checkpoint)
      : values_(checkpoint.values),
        is_tensor_(checkpoint.values.size(), false),
        seen_(checkpoint.values.size(), false),
        root_(checkpoint.root),
        budget_(checkpoint.file) {
    for (const Tensor& tensor : checkpoint.tensors) is_tensor_[tensor.value] = true;
  }

  Survey run() {
    add(root_, "", "", 0);
    while (!open_.empty()) {
      const Place place = std::move(open_.back());
      open_.pop_back();
      look(place);
    }
    return std::move(survey_);
  }

 private:
  struct Place {
    ValueId id;
    std::string path;
    std::size_t entry;  ///< how much of the path leads to the innermost entry of a mapping
  };

  /// `entry`: as of Place; of an entry of a mapping, none.
  void add(ValueId id, const std::string& above, std::string_view part, std::optional<std::size_t> entry) {
    if (is_tensor_[id] || seen_[id]) return;
    seen_[id] = true;
    std::string path = (above.empty() ? "" : above + ".") + std::string(part);
    budget_.spend(path.size());
    const std::size_t length = path.size();
    open_.push_back({id, std::move(path), entry.value_or(length)});
  }

  void look(const Place& place) {
    const ValueId id = place.id;
    const bool mapping = shows_all_pairs(values_, id);
    const bool sequence = values_.kind(id) == ValueKind::list || values_.kind(id) == ValueKind::tuple;
    survey_.attributes |= mapping && has_attributes(values_, id);
    const NamedChildren children = mapping || sequence ? children_of(id, mapping) : NamedChildren();
    if (children.size() == 0 && (id != root_ || !(mapping || sequence))) return note_other(place);
    survey_.nested |= id != root_ || sequence;
    const std::optional<std::size_t> entry = mapping ? std::nullopt : std::optional(place.entry);
    for (std::size_t i = children.size(); i-- > 0;) add(children.value(i), place.path, children.part(i), entry);
  }

  /// Of a mapping its entries: its attributes are told of, and no values of their own.
  NamedChildren children_of(ValueId id, bool mapping) {
    if (!mapping) return named_children(values_, id, budget_);
    NamedChildren children;
    const auto entries = mapping_entries(values_, id);
    budget_.spend_repeats(pair_count(values_, id), entries.size());
    for (const MappingEntry& entry : entries) {
      if (values_.is_string(entry.key)) {
        children.add(values_.text(entry.key), entry.value, budget_);
        continue;
      }
      const std::string text = python_str(values_, entry.key);
      survey_.other_keys = true;
      if (!survey_.object_key) survey_.object_key = unprintable_key(text, "a key");
      children.add(text, entry.value, budget_);
    }
    return children;
  }

  void note_other(const Place& place) {
    if (survey_.others.size() < named_others)
      survey_.others.push_back({place.path, place.path.substr(0, place.entry)});
    else
      survey_.more_others = true;
  }

  const ValueGraph& values_;
  std::vector<bool> is_tensor_, seen_;
  ValueId root_;
  NameBudget budget_;
  std::vector<Place> open_;
  Survey survey_;
};

bool is_more_than_elements(const TensorFacts& facts) {
  return facts.type != "torch.Tensor" || facts.requires_grad || !facts.children.empty();
}

}  // namespace

bool has_attributes(const ValueGraph& values, ValueId id) {
  for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next)
    if (values.effect(handle).kind == EffectKind::build) return true;
  return false;
}

bool has_weights(const Checkpoint& checkpoint) {
  try {
    const Parts parts = find_parts(checkpoint);
    if (parts.state_dicts.empty() && parts.modules.size() == 1) return true;
    return !resolve_root(checkpoint, "auto").empty() || !is_mapping(checkpoint.values, checkpoint.root);
  } catch (const Error&) {
    return false;
  }
}

/// Whether a tensor has a name that lies below none of the paths.
bool has_name_beside(const Checkpoint& checkpoint, const std::vector<std::string>& paths) {
  const auto is_below = [&](const std::string& name) {
    return std::ranges::any_of(paths, [&](const std::string& path) { return name.starts_with(path + "."); });
  };
  const std::vector<NamedTensor> names = tensor_names(checkpoint);
  return std::ranges::any_of(names, [&](const NamedTensor& named) { return !is_below(named.name); });
}

void refuse_other_values(const Checkpoint& checkpoint) {
  Survey survey = Surveyor(checkpoint).run();
  if (survey.object_key) throw survey.object_key->in(checkpoint.file);
  if (survey.others.empty()) return;
  std::string names, drops;
  std::vector<std::string> entries;
  for (const auto& [path, entry] : survey.others) {
    names += names.empty() ? (path.empty() ? "the object itself" : "'" + path + "'") : ", '" + path + "'";
    if (std::ranges::find(entries, entry) != entries.end()) continue;
    entries.push_back(entry);
    drops += "--drop " + shell_value(escaped_glob(entry)) + " ";
  }
  const bool are_entries = std::ranges::find(entries, "") == entries.end();
  const bool are_all = !survey.more_others && are_entries && has_name_beside(checkpoint, entries);
  throw Error(ErrorCode::unsupported, names + (survey.more_others          ? " and more are no tensors"
                                               : survey.others.size() == 1 ? " is no tensor"
                                                                           : " are no tensors"))
      .expected("tensors alone, which is what this format holds")
      .in(checkpoint.file)
      .hint((has_weights(checkpoint) ? "--weights-only takes the state dict alone; " : "") +
            (are_all       ? drops + (survey.others.size() == 1 ? "leaves that out" : "leaves those out")
             : are_entries ? "--drop NAME leaves a part out"
                           : "--root PATH takes a part of it"));
}

std::vector<std::string> losses_beside_elements(const Checkpoint& checkpoint) {
  const Survey survey = Surveyor(checkpoint).run();
  std::vector<std::string> left_out;
  if (survey.nested) left_out.emplace_back("what is nested becomes one list of names, joined by dots");
  if (survey.other_keys) left_out.emplace_back("keys that are no strings become strings");
  if (survey.attributes) left_out.emplace_back("attributes of dicts, such as a state dict's _metadata, are left out");
  const std::vector<NamedTensor> names = tensor_names(checkpoint);
  const ValueViews views(checkpoint);
  const auto special = [&](const NamedTensor& named) {
    return !named.tensor->array && is_more_than_elements(tensor_facts(views, checkpoint, named.tensor->value));
  };
  if (std::any_of(names.begin(), names.end(), special))
    left_out.emplace_back("what tensors are besides their elements (Parameter, requires_grad) is left out");
  return left_out;
}

std::vector<std::string> losses_but_sharing(const Checkpoint& checkpoint) {
  std::vector<std::string> left_out = losses_beside_elements(checkpoint);
  const std::vector<NamedTensor> names = tensor_names(checkpoint);
  const auto on_device = [&](const NamedTensor& named) {
    return !device_of(checkpoint, *named.tensor).starts_with("cpu");
  };
  if (std::any_of(names.begin(), names.end(), on_device))
    left_out.emplace_back("devices are left out: arrays are on the CPU");
  return left_out;
}

std::vector<std::string> losses(const Checkpoint& checkpoint) {
  std::vector<std::string> left_out = losses_but_sharing(checkpoint);
  if (const auto [a, b] = shared_pair(tensor_names(checkpoint)); a != b)
    left_out.push_back("tensors that share storage, such as '" + a + "' and '" + b + "', are written one by one");
  return left_out;
}

}  // namespace ckpt::named_tensors
