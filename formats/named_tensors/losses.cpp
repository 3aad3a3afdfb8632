#include "named_tensors/losses.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "model/pair_lists.h"
#include "model/python_str.h"
#include "model/walk.h"
#include "ops/root.h"
#include "ops/unpacked.h"
#include "ops/value_view.h"

namespace ckpt::named_tensors {
namespace {

/// Of values that are no tensors: how many are looked at, are named, and how many entries are proposed to be dropped.
constexpr std::size_t most_others = 256, named_others = 3, most_drops = 5;

/// What a checkpoint is made of beside tensors under names.
struct Survey {
  struct Other {
    std::string path;
    std::vector<std::size_t> entries;  ///< lengths of the path: of entries of mappings, which can be dropped
  };
  std::vector<Other> others;  ///< values that are no tensors, the first few
  bool more_others = false;
  bool nested = false, attributes = false, other_keys = false;
  std::optional<Error> object_key;  ///< of the first that has no text
};

/// Looks into every value once, whatever number of paths lead to it.
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
    add(root_, "", "", {}, false);
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
    std::vector<std::size_t> entries;  ///< as of Survey::Other
  };

  [[nodiscard]] bool is_sequence(ValueId id) const {
    return values_.kind(id) == ValueKind::list || values_.kind(id) == ValueKind::tuple;
  }

  void add(ValueId id, const std::string& above, std::string_view part, const std::vector<std::size_t>& entries,
           bool is_entry) {
    if (is_tensor_[id] || seen_[id]) return;
    seen_[id] = shows_all_pairs(values_, id) || is_sequence(id);  // numbers that are equal may be one value
    std::string path = (above.empty() ? "" : above + ".") + std::string(part);
    budget_.spend(path.size());
    open_.push_back({id, std::move(path), entries});
    Place& place = open_.back();
    if (is_entry && !place.path.empty()) place.entries.push_back(place.path.size());
  }

  void look(const Place& place) {
    const ValueId id = place.id;
    const bool mapping = shows_all_pairs(values_, id);
    const bool sequence = is_sequence(id);
    survey_.attributes |= mapping && has_attributes(values_, id);
    const NamedChildren children = mapping || sequence ? children_of(id, mapping) : NamedChildren();
    if (children.size() == 0 && (id != root_ || !(mapping || sequence))) return note_other(place);
    survey_.nested |= id != root_ || sequence;
    for (std::size_t i = children.size(); i-- > 0;)
      add(children.value(i), place.path, children.part(i), place.entries, mapping);
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
    if (survey_.others.size() < most_others)
      survey_.others.push_back({place.path, place.entries});
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

/// The entries to drop so that values that are no tensors go: of each the widest that holds no tensor, for what would
/// be left of it is no tensor either; where there is none, the innermost.
class Drops {
 public:
  Drops(const Checkpoint& checkpoint, const std::vector<Survey::Other>& others) : names_(tensor_names(checkpoint)) {
    std::ranges::sort(names_, {}, &NamedTensor::name);
    for (const Survey::Other& other : others) {
      if (other.entries.empty()) {
        are_possible_ = false;
        return;
      }
      const auto without = std::ranges::find_if(
          other.entries, [&](std::size_t length) { return tensors_in(other.path.substr(0, length)) == 0; });
      entries_.insert(other.path.substr(0, without == other.entries.end() ? other.entries.back() : *without));
    }
    for (const std::string& entry : entries_) tensors_ += tensors_in(entry);
  }

  [[nodiscard]] std::string hint(bool is_one, bool are_all) const {
    if (!are_possible_) return "--root PATH takes a part of it";
    if (!are_all || entries_.size() > most_drops || tensors_ >= names_.size()) return "--drop NAME leaves a part out";
    std::string hint;
    for (const std::string& entry : entries_) hint += "--drop " + shell_value(escaped_glob(entry)) + " ";
    return hint + (is_one ? "leaves that out" : "leaves those out") + (tensors_ > 0 ? ", and tensors beside it" : "");
  }

 private:
  std::size_t tensors_in(const std::string& entry) const {
    const auto before = [&](const char* end) {
      return std::ranges::lower_bound(names_, entry + end, {}, &NamedTensor::name);
    };
    return static_cast<std::size_t>(before("/") - before("."));  // '/' follows '.'
  }

  std::vector<NamedTensor> names_;  ///< sorted
  std::set<std::string> entries_;
  std::size_t tensors_ = 0;  ///< in them
  bool are_possible_ = true;
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
    const Unpacked unpacked(checkpoint);
    return !resolve_root(unpacked.get(), "auto").empty() || !is_mapping(checkpoint.values, checkpoint.root);
  } catch (const Error&) {
    return false;
  }
}

void refuse_other_values(const Checkpoint& checkpoint) {
  Survey survey = Surveyor(checkpoint).run();
  if (survey.object_key) throw survey.object_key->in(checkpoint.file);
  if (survey.others.empty()) return;
  const std::size_t count = survey.others.size();
  std::string names;
  for (const auto& [path, entries] : std::span(survey.others).first(std::min(count, named_others)))
    names += names.empty() ? (path.empty() ? "the object itself" : "'" + path + "'") : ", '" + path + "'";
  const bool is_one = count == 1;
  throw Error(ErrorCode::unsupported, names + (count > named_others ? " and more are no tensors"
                                               : is_one             ? " is no tensor"
                                                                    : " are no tensors"))
      .expected("tensors alone, which is what this format holds")
      .in(checkpoint.file)
      .hint((has_weights(checkpoint) ? "--weights-only takes the state dict alone; " : "") +
            Drops(checkpoint, survey.others).hint(is_one, !survey.more_others));
}

std::vector<std::string> losses_beside_elements(const Checkpoint& checkpoint) {
  const Survey survey = Surveyor(checkpoint).run();
  std::vector<std::string> left_out;
  if (survey.nested) left_out.emplace_back("what is nested becomes one list of names, joined by dots");
  if (survey.other_keys) left_out.emplace_back(keys_become_strings);
  if (survey.attributes) left_out.emplace_back(attributes_are_left_out);
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
