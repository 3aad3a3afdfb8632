#include "torchscript/state_walk.h"

#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/state_dict.h"
#include "model/pair_lists.h"
#include "model/walk.h"

namespace ckpt::torchscript {
namespace {

class StateWalk {
 public:
  StateWalk(const Checkpoint& checkpoint, const ScriptClasses& classes)
      : values_(checkpoint.values),
        classes_(classes),
        bytes_(checkpoint.file, limits::tensor_name_bytes),
        most_names_(limits::tensor_names + limits::names_a_tensor * checkpoint.tensors.size()),
        is_tensor_(values_.size()),
        on_path_(values_.size()) {
    for (const Tensor& tensor : checkpoint.tensors) is_tensor_[tensor.value] = true;
  }

  StateEntries run(ValueId object) {
    if (class_of(object) != nullptr) enter(object, {});
    while (!open_.empty()) {
      Open& open = open_.back();
      if (open.next == open.entries.size()) {
        on_path_[open.module] = false;
        open_.pop_back();
        continue;
      }
      const MappingEntry entry = open.entries[open.next++];
      if (values_.is_string(entry.key) && class_of(entry.value) != nullptr)
        enter(entry.value, open.prefix + std::string(values_.text(entry.key)));
    }
    return std::move(state_);
  }

 private:
  struct Open {
    ValueId module = no_value;
    std::string prefix;  ///< of what is in it: empty, or its name and a dot
    std::vector<MappingEntry> entries;
    std::size_t next = 0;
  };

  /// Null for what is no module.
  const ScriptClass* class_of(ValueId id) {
    if (values_.kind(id) != ValueKind::object || is_tensor_[id]) return nullptr;
    const ValueId type = values_.items(id)[0];
    if (values_.kind(type) != ValueKind::global) return nullptr;
    count_steps((values_.module(type).size() + values_.name(type).size()) / bytes_a_step);
    const auto found = classes_.find(std::string(values_.module(type)) + "." + std::string(values_.name(type)));
    return found == classes_.end() || !found->second.is_module ? nullptr : &found->second;
  }

  std::vector<MappingEntry> attributes_of(ValueId module) {
    for (auto handle = values_.first_effect(module); handle != 0; handle = values_.effect(handle).next) {
      if (values_.effect(handle).kind != EffectKind::build) continue;
      const ValueId state = values_.items(values_.effect(handle))[0];
      if (!is_mapping(values_, state)) continue;
      count_steps(pair_count(values_, state));
      return mapping_entries(values_, state);
    }
    return {};
  }

  void count_steps(std::uint64_t steps) {
    steps_ += steps;
    if (const std::uint64_t most = limits::walk_step_cap(values_.extent()); steps_ > most)
      throw Error(ErrorCode::limit_exceeded,
                  "the modules hold each other more than " + std::to_string(most) + " times over");
  }

  void enter(ValueId module, const std::string& name) {
    if (on_path_[module])
      throw Error(ErrorCode::corrupt, "the module '" + name + "' stands within itself").expected("a tree of modules");
    on_path_[module] = true;
    const ScriptClass& type = *class_of(module);
    Open open{module, name.empty() ? "" : name + ".", attributes_of(module), 0};
    count(name);
    state_.modules.push_back(name);
    const auto add = [&](const auto& is_wanted) {
      for (const MappingEntry& entry : open.entries) {
        if (!values_.is_string(entry.key) || !is_tensor_[entry.value]) continue;
        const std::string key(values_.text(entry.key));
        if (!is_wanted(key)) continue;
        count(open.prefix + key);
        state_.tensors.emplace_back(open.prefix + key, entry.value);
      }
    };
    add([&](const std::string& key) { return type.parameters.contains(key); });
    add([&](const std::string& key) {
      return type.names_buffers ? type.buffers.contains(key) : !type.parameters.contains(key);
    });
    open_.push_back(std::move(open));
  }

  /// Modules that are shared are named once a path.
  void count(const std::string& name) {
    bytes_.spend(name.size());
    if (++names_ > most_names_)
      throw Error(ErrorCode::limit_exceeded,
                  "the modules give more than " + std::to_string(most_names_) + " names of tensors and modules");
  }

  const ValueGraph& values_;
  const ScriptClasses& classes_;
  NameBudget bytes_;
  std::uint64_t most_names_, names_ = 0, steps_ = 0;
  std::vector<bool> is_tensor_, on_path_;
  std::vector<Open> open_;
  StateEntries state_{.tensors = {}, .modules = {}, .format = "torch"};
};

}  // namespace

StateEntries walk_state(const Checkpoint& checkpoint, ValueId object, const ScriptClasses& classes) {
  try {
    return StateWalk(checkpoint, classes).run(object);
  } catch (Error& error) {
    throw error.in(checkpoint.file);
  }
}

}  // namespace ckpt::torchscript
