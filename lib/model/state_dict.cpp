#include "ckpt/state_dict.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ckpt/modules.h"
#include "model/find_entry.h"
#include "model/model_names.h"
#include "model/module_reader.h"
#include "model/python_str.h"
#include "model/rooted.h"
#include "model/walk.h"

namespace ckpt {
namespace {

/// Finds state dicts, modules and optimizers' states on one walk.
class Search {
 public:
  explicit Search(const Checkpoint& checkpoint)
      : values_(checkpoint.values),
        modules_(checkpoint.values),
        is_tensor_(values_.size()),
        seen_(values_.size()),
        part_bytes_(checkpoint.file),
        path_bytes_(checkpoint.file) {
    for (const Tensor& tensor : checkpoint.tensors) is_tensor_[tensor.value] = true;
    check_root(checkpoint);
    open_.push_back({checkpoint.root, 0});
  }

  void run() {
    while (!open_.empty()) {
      const Open next = open_.back();
      open_.pop_back();
      if (next.value == no_value || seen_[next.value]) continue;
      seen_[next.value] = true;
      visit(next);
    }
  }

  Parts take() { return std::move(found_); }

 private:
  /// A place on the way: a part of a path, and the place above it. Paths are put together for what is found only.
  struct Place {
    std::string part;
    std::size_t above = 0;
  };
  struct Open {
    ValueId value = no_value;
    std::size_t place = 0;
  };

  std::string path_to(std::size_t place) const {
    std::vector<const std::string*> parts;
    for (; place != 0; place = places_[place].above) parts.push_back(&places_[place].part);
    std::string path;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      path += (path.empty() && part == parts.rbegin() ? "" : ".") + **part;
    return path;
  }

  std::string spent_path_to(std::size_t place) {
    std::string path = path_to(place);
    path_bytes_.spend(path.size());
    return path;
  }

  void visit(const Open& at) {
    std::vector<Open> below;
    const auto is_searched = [&](ValueId child) {
      return is_mapping(values_, child) || is_list(child) || modules_.read(child).is_module();
    };
    const auto add = [&](std::string part, ValueId child) {
      part_bytes_.spend(part.size());
      below.push_back({child, places_.size()});
      places_.push_back({std::move(part), at.place});
    };
    if (is_mapping(values_, at.value)) {
      const auto entries = mapping_entries(values_, at.value);
      const MappingEntry* const state = find_entry(values_, entries, "state");
      const MappingEntry* const groups = find_entry(values_, entries, "param_groups");
      if (state != nullptr && groups != nullptr && is_mapping(values_, state->value) && is_list(groups->value)) {
        return found_.optimizers.push_back(
            {spent_path_to(at.place), at.value, size_of(state->value), size_of(groups->value)});
      }
      if (is_state_dict(entries)) return found_.state_dicts.push_back({spent_path_to(at.place), at.value});
      if (has_models_tensor(entries)) found_.mixed.push_back({spent_path_to(at.place), at.value});
      for (const MappingEntry& entry : entries)
        if (is_searched(entry.value)) add(python_str(values_, entry.key), entry.value);
    } else if (modules_.read(at.value).is_module()) {
      return found_.modules.push_back({spent_path_to(at.place), at.value, class_name(values_, at.value)});
    } else if (is_list(at.value)) {
      std::size_t position = 0;
      const auto add_positions = [&](std::span<const ValueId> items) {
        for (std::size_t i = 0; i < items.size(); ++i, ++position)
          if (is_searched(items[i])) add(std::to_string(position), items[i]);
      };
      add_positions(values_.items(at.value));
      for (auto handle = values_.first_effect(at.value); handle != 0; handle = values_.effect(handle).next)
        add_positions(values_.items(values_.effect(handle)));
    }
    open_.insert(open_.end(), below.rbegin(), below.rend());
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
      else if (values_.kind(entry.value) != ValueKind::none && !values_.text(entry.key).ends_with("_extra_state"))
        return false;
    }
    return any;
  }

  bool has_models_tensor(const std::vector<MappingEntry>& entries) const {
    return std::any_of(entries.begin(), entries.end(), [&](const MappingEntry& entry) {
      return is_tensor_[entry.value] && values_.is_string(entry.key) && is_models_key(values_.text(entry.key));
    });
  }

  const ValueGraph& values_;
  ModuleReader modules_;
  std::vector<bool> is_tensor_, seen_;
  std::vector<Place> places_{1};  ///< the first is the root
  std::vector<Open> open_;
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

bool is_models(const ValueGraph& values, const StateDict& dict) {
  if (std::find(usual_paths.begin(), usual_paths.end(), dict.path) != usual_paths.end()) return true;
  const auto entries = mapping_entries(values, dict.value);
  return std::any_of(entries.begin(), entries.end(),
                     [&](const MappingEntry& entry) { return is_models_key(values.text(entry.key)); });
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
