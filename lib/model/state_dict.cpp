#include "ckpt/state_dict.h"

#include <algorithm>
#include <unordered_set>

#include "model/python_str.h"

namespace ckpt {
namespace {

bool is_string(const ValueGraph& values, ValueId id) {
  return values.kind(id) == ValueKind::str || values.kind(id) == ValueKind::py2_str;
}

bool is_optimizer_state(const ValueGraph& values, const std::vector<MappingEntry>& entries) {
  const auto has = [&](std::string_view key) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const MappingEntry& e) { return is_string(values, e.key) && values.text(e.key) == key; });
  };
  return has("state") && has("param_groups");
}

class Search {
 public:
  explicit Search(const Checkpoint& checkpoint) : values_(checkpoint.values) {
    for (const Tensor& tensor : checkpoint.tensors) tensors_.insert(tensor.value);
    open_.push_back({"", checkpoint.root});
  }

  std::vector<StateDict> run() {
    while (!open_.empty()) {
      const StateDict next = std::move(open_.back());
      open_.pop_back();
      if (next.value != no_value && seen_.insert(next.value).second) visit(next);
    }
    return std::move(found_);
  }

 private:
  void visit(const StateDict& at) {
    std::vector<StateDict> below;
    const auto add = [&](const std::string& part, ValueId child) {
      const ValueKind kind = values_.kind(child);
      if (is_mapping(values_, child) || kind == ValueKind::list || kind == ValueKind::tuple)
        below.push_back({at.path.empty() && at_root_ ? part : at.path + "." + part, child});
    };
    if (is_mapping(values_, at.value)) {
      const auto entries = mapping_entries(values_, at.value);
      if (is_optimizer_state(values_, entries)) return;
      if (is_state_dict(entries)) return found_.push_back(at);
      for (const MappingEntry& entry : entries) add(python_str(values_, entry.key), entry.value);
    } else {
      std::size_t position = 0;
      for (const ValueId item : values_.items(at.value)) add(std::to_string(position++), item);
      for (auto handle = values_.first_effect(at.value); handle != 0; handle = values_.effect(handle).next)
        for (const ValueId item : values_.items(values_.effect(handle))) add(std::to_string(position++), item);
    }
    at_root_ = false;
    open_.insert(open_.end(), below.rbegin(), below.rend());
  }

  bool is_state_dict(const std::vector<MappingEntry>& entries) const {
    bool any = false;
    for (const MappingEntry& entry : entries) {
      if (!is_string(values_, entry.key)) return false;
      if (tensors_.contains(entry.value))
        any = true;
      else if (values_.kind(entry.value) != ValueKind::none && !values_.text(entry.key).ends_with("_extra_state"))
        return false;
    }
    return any;
  }

  const ValueGraph& values_;
  std::unordered_set<ValueId> tensors_, seen_;
  std::vector<StateDict> open_, found_;
  bool at_root_ = true;
};

}  // namespace

std::vector<StateDict> find_state_dicts(const Checkpoint& checkpoint) { return Search(checkpoint).run(); }

ValueId state_dict_metadata(const ValueGraph& values, ValueId state_dict) {
  ValueId metadata = no_value;
  for (auto handle = values.first_effect(state_dict); handle != 0; handle = values.effect(handle).next) {
    const Effect& effect = values.effect(handle);
    if (effect.kind != EffectKind::build) continue;
    const ValueId state = values.items(effect)[0];
    if (!is_mapping(values, state)) continue;
    for (const MappingEntry& entry : mapping_entries(values, state))
      if (is_string(values, entry.key) && values.text(entry.key) == "_metadata") metadata = entry.value;
  }
  return metadata != no_value && is_mapping(values, metadata) ? metadata : no_value;
}

}  // namespace ckpt
