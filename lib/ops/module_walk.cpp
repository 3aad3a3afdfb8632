#include "ops/module_walk.h"

#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "model/pair_lists.h"

namespace ckpt {

ModuleWalk::ModuleWalk(const Checkpoint& checkpoint)
    : checkpoint_(checkpoint),
      reader_(checkpoint.values),
      most_steps_(limits::walk_step_cap(checkpoint.values.extent())) {}

void ModuleWalk::run(ValueId module, const Enter& enter, const Other& other) {
  const ValueGraph& values = checkpoint_.values;
  open(module, "", enter);
  while (!open_.empty()) {
    Open& at = open_.back();
    if (at.next == at.children.size()) {
      on_path_.erase(at.module);
      open_.pop_back();
      continue;
    }
    const MappingEntry child = at.children[at.next++];
    count_step();
    // What torch.compile() was given stands under no key of the file.
    const bool is_compiled = child.key == no_value;
    if (!is_compiled && (values.kind(child.value) == ValueKind::none || !values.is_string(child.key))) continue;
    const std::string path = at.prefix + (is_compiled ? "_orig_mod" : std::string(values.text(child.key)));
    if (reader_.read(child.value).is_module())
      open(child.value, path, enter);
    else
      other(path);
  }
}

void ModuleWalk::open(ValueId module, const std::string& path, const Enter& enter) {
  if (!on_path_.insert(module).second)
    throw Error(ErrorCode::corrupt, "the module '" + path + "' stands within itself")
        .expected("a tree of modules")
        .in(checkpoint_.file);
  const ModuleParts parts = reader_.read(module);
  Open opened{module, path.empty() ? "" : path + ".", entries_of(parts.modules)};
  if (parts.compiled != no_value) opened.children = {{no_value, parts.compiled}};
  enter(module, path, open_.size());
  open_.push_back(std::move(opened));
}

void ModuleWalk::count_step(std::uint64_t steps) {
  steps_ += steps;
  if (steps_ > most_steps_)
    throw Error(ErrorCode::limit_exceeded,
                "the modules hold each other more than " + std::to_string(most_steps_) + " times over")
        .in(checkpoint_.file);
}

std::vector<MappingEntry> ModuleWalk::entries_of(ValueId mapping) {
  if (mapping == no_value) return {};
  count_step(pair_count(checkpoint_.values, mapping));
  return mapping_entries(checkpoint_.values, mapping);
}

}  // namespace ckpt
