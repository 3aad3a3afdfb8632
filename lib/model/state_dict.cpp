#include "ckpt/state_dict.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/modules.h"
#include "model/find_entry.h"
#include "model/model_names.h"
#include "model/module_reader.h"
#include "model/pair_lists.h"
#include "model/path_walk.h"
#include "model/python_str.h"
#include "model/rooted.h"
#include "model/walk.h"

namespace ckpt {
namespace {

/// Finds state dicts, modules and optimizers' states on one walk.
class Search {
 public:
  explicit Search(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        values_(checkpoint.values),
        modules_(checkpoint.values),
        is_tensor_(values_.size()),
        walk_(values_.size()),
        kinds_(values_.size()),
        part_bytes_(checkpoint.file),
        path_bytes_(checkpoint.file) {
    for (const Tensor& tensor : checkpoint.tensors) is_tensor_[tensor.value] = true;
    check_root(checkpoint);
    if (checkpoint.root == no_value || !is_mapping(values_, checkpoint.root)) return;
    for (const MappingEntry& entry : mapping_entries(values_, checkpoint.root))
      if (values_.is_string(entry.key) && !values_.text(entry.key).empty() &&
          std::ranges::find(usual_paths, values_.text(entry.key)) != usual_paths.end())
        usual_.insert(entry.value);
  }

  void run() {
    if (checkpoint_.root != no_value) walk_.run(checkpoint_.root, [&](ValueId id) { visit(id); });
  }

  Parts take() { return std::move(found_); }

 private:
  enum class Kind : std::uint8_t { unseen, state_dict, mixed, other_part, other };

  /// What was found comes again under each path that leads to it, as the names of its tensors do; but for modules and
  /// optimizers' states.
  void visit(ValueId id) {
    Kind& kind = kinds_[id];
    const bool again = kind != Kind::unseen;
    if (again && (walk_.is_within(id) || kind == Kind::other_part || !holds_tensors(id))) return;
    if (again) count_again();
    if (kind == Kind::state_dict) return add_to(found_.state_dicts, id);
    std::vector<MappingEntry> entries;
    if (is_mapping(values_, id)) {
      if (again) part_bytes_.spend(pair_count(values_, id));
      entries = mapping_entries(values_, id);
    }
    if (!again) kind = kind_of(id, entries);
    if (kind == Kind::state_dict) return add_to(found_.state_dicts, id);
    if (kind == Kind::other_part) return;
    if (kind == Kind::mixed) add_to(found_.mixed, id);
    if (beside_optimizers_.contains(id))
      std::erase_if(entries, [&](const MappingEntry& entry) { return is_optimizers(entry); });
    walk_.enter(id, children_of(id, entries, again));
  }

  Kind kind_of(ValueId id, const std::vector<MappingEntry>& entries) {
    if (is_mapping(values_, id)) {
      const MappingEntry* const state = find_entry(values_, entries, "state");
      const MappingEntry* const groups = find_entry(values_, entries, "param_groups");
      if (state != nullptr && groups != nullptr && is_mapping(values_, state->value) && is_list(groups->value)) {
        const bool alone = entries.size() == 2 || !holds_model_beside(id, entries);
        found_.optimizers.push_back({spent_path(), {}, size_of(state->value), size_of(groups->value)});
        std::vector<OptimizerState::Part>& parts = found_.optimizers.back().parts;
        if (alone) {
          parts.push_back({spent_path(), id});
          return Kind::other_part;
        }
        const std::string path = spent_path() + (walk_.path().empty() ? "" : ".");
        parts.push_back({path + "state", state->value});
        parts.push_back({path + "param_groups", groups->value});
        beside_optimizers_.insert(id);
      } else if (const auto parameters = of_flat_optimizer(entries)) {
        found_.optimizers.push_back({spent_path(), {{spent_path(), id}}, *parameters, 0});
        return Kind::other_part;
      }
      if (is_state_dict(entries)) return Kind::state_dict;
      return has_models_tensor(id, entries) ? Kind::mixed : Kind::other;
    }
    if (!modules_.read(id).is_module()) return Kind::other;
    found_.modules.push_back({spent_path(), id, class_name(values_, id)});
    return Kind::other_part;
  }

  bool is_optimizers(const MappingEntry& entry) const {
    return values_.is_string(entry.key, "state") || values_.is_string(entry.key, "param_groups");
  }

  /// Whether a mapping that has an optimizer's entries has a model's, too, or holds one. What optimizers keep beside
  /// the two (slow weights by number, a scale) is theirs.
  bool holds_model_beside(ValueId id, const std::vector<MappingEntry>& entries) {
    if (has_models_tensor(id, entries)) return true;
    if (!holds_models_) holds_models_ = values_holding(values_, models());
    return std::ranges::any_of(
        entries, [&](const MappingEntry& entry) { return !is_optimizers(entry) && (*holds_models_)[entry.value]; });
  }

  /// Modules, mappings with a model's tensors, and state dicts under a key that is usual for one, wherever they are.
  std::vector<ValueId> models() {
    std::vector<ValueId> found;
    std::unordered_set<ValueId> asked;
    const auto is_usual = [&](const MappingEntry& entry) {
      return values_.is_string(entry.key) && is_mapping(values_, entry.value) &&
             std::ranges::find(usual_paths, values_.text(entry.key)) != usual_paths.end();
    };
    for (ValueId id = 0; id < values_.size(); ++id) {
      if (!is_mapping(values_, id)) {
        if (modules_.read(id).is_module()) found.push_back(id);
        continue;
      }
      const std::vector<MappingEntry> entries = mapping_entries(values_, id);
      if (has_models_tensor(id, entries)) found.push_back(id);
      for (const MappingEntry& entry : entries)
        if (is_usual(entry) && asked.insert(entry.value).second && is_state_dict(mapping_entries(values_, entry.value)))
          found.push_back(entry.value);
    }
    return found;
  }

  /// What torch.distributed.checkpoint's get_optimizer_state_dict() gives with flatten_optimizer_state_dict: of how
  /// many parameters. Its keys are "state.PARAMETER.NAME" and "param_groups.PARAMETER.NAME".
  std::optional<std::size_t> of_flat_optimizer(const std::vector<MappingEntry>& entries) const {
    constexpr std::string_view groups = "param_groups.", state = "state.";
    bool any = false;
    std::unordered_set<std::string_view> parameters;
    for (const MappingEntry& entry : entries) {
      if (!values_.is_string(entry.key)) return std::nullopt;
      const std::string_view key = values_.text(entry.key);
      any = any || key.starts_with(groups);
      if (key.starts_with(state))
        parameters.insert(key.substr(0, key.rfind('.')));
      else if (!key.starts_with(groups))
        return std::nullopt;
    }
    return any ? std::optional(parameters.size()) : std::nullopt;
  }

  NamedChildren children_of(ValueId id, const std::vector<MappingEntry>& entries, bool again) {
    NamedChildren children;
    const auto is_searched = [&](ValueId child) {
      return is_mapping(values_, child) || is_list(child) || modules_.read(child).is_module();
    };
    for (const MappingEntry& entry : entries)
      if (is_searched(entry.value)) children.add(python_str(values_, entry.key), entry.value, part_bytes_);
    if (!is_list(id)) return children;
    std::size_t position = 0;
    const auto add_positions = [&](std::span<const ValueId> items) {
      if (again) part_bytes_.spend(items.size());
      for (std::size_t i = 0; i < items.size(); ++i, ++position)
        if (is_searched(items[i])) children.add(std::to_string(position), items[i], part_bytes_);
    };
    add_positions(values_.items(id));
    for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next)
      add_positions(values_.items(values_.effect(handle)));
    return children;
  }

  const std::string& spent_path() {
    path_bytes_.spend(walk_.path().size());
    return walk_.path();
  }

  /// Each holds a tensor, so that they are no more than names of tensors.
  void add_to(std::vector<StateDict>& found, ValueId id) {
    const std::uint64_t most = limits::tensor_names + limits::names_a_tensor * checkpoint_.tensors.size();
    if (found.size() >= most)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(most) + " paths lead to state dicts")
          .in(checkpoint_.file);
    found.push_back({spent_path(), id});
  }

  void count_again() {
    const std::uint64_t most = limits::walk_step_cap(values_.extent());
    if (++steps_ > most)
      throw Error(ErrorCode::limit_exceeded,
                  "containers of the file hold each other more than " + std::to_string(most) + " times over")
          .in(checkpoint_.file);
  }

  bool holds_tensors(ValueId id) {
    if (!holds_) holds_ = values_holding_tensors(checkpoint_);
    return (*holds_)[id];
  }

  /// Of a mapping or a list, which thousands of optimizers may share.
  std::size_t size_of(ValueId id) {
    const auto [known, fresh] = sizes_.try_emplace(id, 0);
    std::size_t& size = known->second;
    if (fresh && is_mapping(values_, id)) size = mapping_entries(values_, id).size();
    if (fresh && values_.kind(id) == ValueKind::list) values_.each_operand(id, [&](ValueId) { ++size; });
    return size;
  }

  bool is_list(ValueId id) const { return values_.kind(id) == ValueKind::list || values_.kind(id) == ValueKind::tuple; }

  bool is_state_dict(const std::vector<MappingEntry>& entries) const {
    bool any = false;
    for (const MappingEntry& entry : entries) {
      if (!values_.is_string(entry.key)) return false;
      if (is_tensor_[entry.value])
        any = true;
      else if (values_.kind(entry.value) != ValueKind::none && !may_hold_anything(values_.text(entry.key)))
        return false;
    }
    return any;
  }

  /// Where trainers keep a model any tensor is one of it.
  bool has_models_tensor(ValueId id, const std::vector<MappingEntry>& entries) const {
    const bool is_usual = usual_.contains(id);
    return std::any_of(entries.begin(), entries.end(), [&](const MappingEntry& entry) {
      const bool is_models = is_usual || (values_.is_string(entry.key) && is_models_key(values_.text(entry.key)));
      return is_tensor_[entry.value] && is_models;
    });
  }

  const Checkpoint& checkpoint_;
  const ValueGraph& values_;
  ModuleReader modules_;
  std::vector<bool> is_tensor_;
  PathWalk walk_;
  std::vector<Kind> kinds_;
  std::unordered_set<ValueId> usual_;              ///< in the root, where trainers keep a model
  std::optional<std::vector<bool>> holds_;         ///< asked where a value is held twice
  std::optional<std::vector<bool>> holds_models_;  ///< asked where more stands beside an optimizer's entries
  std::unordered_set<ValueId> beside_optimizers_;  ///< mappings that hold a model as well as an optimizer's entries
  std::uint64_t steps_ = 0;
  NameBudget part_bytes_, path_bytes_;
  std::unordered_map<ValueId, std::size_t> sizes_;
  Parts found_;
};

}  // namespace

Parts find_parts(const Checkpoint& checkpoint) {
  // A model that only goes as a whole has no such parts.
  if (const auto type = whole_module(checkpoint)) return {{}, {{"", checkpoint.root, *type}}, {}, {}};
  Search search(checkpoint);
  search.run();
  return search.take();
}

std::vector<StateDict> find_state_dicts(const Checkpoint& checkpoint) { return find_parts(checkpoint).state_dicts; }
std::vector<Module> find_modules(const Checkpoint& checkpoint) { return find_parts(checkpoint).modules; }
std::vector<OptimizerState> find_optimizer_states(const Checkpoint& checkpoint) {
  return find_parts(checkpoint).optimizers;
}

std::unordered_set<ValueId> models_of(const ValueGraph& values, const std::vector<StateDict>& dicts) {
  const auto has_layer = [&](ValueId mapping) {
    return std::ranges::any_of(mapping_entries(values, mapping), [&](const MappingEntry& entry) {
      return values.is_string(entry.key) && is_models_key(values.text(entry.key));
    });
  };
  std::unordered_set<ValueId> models, asked;
  for (const StateDict& dict : dicts) {
    const bool is_usual = std::ranges::find(usual_paths, dict.path) != usual_paths.end();
    if (is_usual || (asked.insert(dict.value).second && has_layer(dict.value))) models.insert(dict.value);
  }
  return models;
}

ValueId state_dict_metadata(const ValueGraph& values, ValueId state_dict) {
  ValueId metadata = no_value;
  std::unordered_set<ValueId> states;  // given again, a state says nothing new
  for (auto handle = values.first_effect(state_dict); handle != 0; handle = values.effect(handle).next) {
    const Effect& effect = values.effect(handle);
    if (effect.kind != EffectKind::build) continue;
    const ValueId state = values.items(effect)[0];
    if (!is_mapping(values, state) || !states.insert(state).second) continue;
    for (const MappingEntry& entry : mapping_entries(values, state))
      if (values.is_string(entry.key, "_metadata")) metadata = entry.value;
  }
  return metadata != no_value && is_mapping(values, metadata) ? metadata : no_value;
}

}  // namespace ckpt
