#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/modules.h"
#include "ckpt/state_dict.h"
#include "model/module_reader.h"
#include "model/pair_lists.h"
#include "model/walk.h"

namespace ckpt {
namespace {

class Walk {
 public:
  explicit Walk(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        values_(checkpoint.values),
        reader_(checkpoint.values),
        names_(checkpoint.file),
        most_steps_(limits::walk_step_cap(checkpoint.values.extent())) {}

  std::vector<Submodule> run(const Module& module) {
    if (!reader_.read(module.value).is_module()) return {{"", 0, module.value, module.class_name}};
    enter(module.value, "");
    while (!open_.empty()) {
      Open& at = open_.back();
      if (at.next == at.children.size()) {
        on_path_.erase(at.module);
        open_.pop_back();
        continue;
      }
      const auto [name, child] = at.children[at.next++];
      if (reader_.read(child).is_module()) enter(child, at.prefix + std::string(name));
    }
    return std::move(found_);
  }

 private:
  using Children = std::vector<std::pair<std::string_view, ValueId>>;

  struct Open {
    ValueId module;
    std::string prefix;  ///< of what is in it
    Children children;
    std::size_t next = 0;
  };

  void enter(ValueId module, const std::string& path) {
    if (!on_path_.insert(module).second)
      throw Error(ErrorCode::corrupt, "the module '" + path + "' stands within itself")
          .expected("a tree of modules")
          .in(checkpoint_.file);
    std::string type = class_name(values_, module);
    names_.spend(path.size() + type.size());
    found_.push_back({path, open_.size(), module, std::move(type)});
    open_.push_back({module, path.empty() ? "" : path + ".", children_of(module)});
  }

  Children children_of(ValueId module) {
    const ModuleParts parts = reader_.read(module);
    if (parts.compiled != no_value) return {{"_orig_mod", parts.compiled}};
    steps_ += 1 + (parts.modules == no_value ? 0 : pair_count(values_, parts.modules));
    if (steps_ > most_steps_)
      throw Error(ErrorCode::limit_exceeded,
                  "the modules hold each other more than " + std::to_string(most_steps_) + " times over")
          .in(checkpoint_.file);
    Children children;
    if (parts.modules == no_value) return children;
    for (const MappingEntry& entry : mapping_entries(values_, parts.modules))
      if (values_.is_string(entry.key)) children.emplace_back(values_.text(entry.key), entry.value);
    return children;
  }

  const Checkpoint& checkpoint_;
  const ValueGraph& values_;
  ModuleReader reader_;
  NameBudget names_;
  std::uint64_t most_steps_, steps_ = 0;
  std::vector<Open> open_;
  std::unordered_set<ValueId> on_path_;
  std::vector<Submodule> found_;
};

}  // namespace

std::vector<Submodule> submodules(const Checkpoint& checkpoint, const Module& module) {
  return Walk(checkpoint).run(module);
}

ValueId module_attribute(const Checkpoint& checkpoint, ValueId module, std::string_view name) {
  const ValueGraph& values = checkpoint.values;
  ValueId found = no_value;
  for (auto handle = values.first_effect(module); handle != 0; handle = values.effect(handle).next) {
    if (values.effect(handle).kind != EffectKind::build) continue;
    for (const ValueId mapping : state_mappings(values, values.items(values.effect(handle))[0]))
      for (const MappingEntry& entry : mapping_entries(values, mapping))
        if (values.is_string(entry.key, name)) found = entry.value;
  }
  return found;
}

}  // namespace ckpt
