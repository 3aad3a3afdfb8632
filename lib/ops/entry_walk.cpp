#include "ops/entry_walk.h"

#include <set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "model/pair_lists.h"
#include "model/python_str.h"
#include "model/rooted.h"
#include "ops/mapping_edit.h"

namespace ckpt {

EntryWalk::EntryWalk(const Checkpoint& checkpoint)
    : checkpoint_(checkpoint),
      is_tensor_(checkpoint.values.size()),
      on_path_(checkpoint.values.size()),
      parts_(checkpoint.file) {
  check_root(checkpoint);
  for (const Tensor& tensor : checkpoint.tensors) is_tensor_[tensor.value] = true;
}

std::vector<EntryWalk::Child> EntryWalk::children_of(ValueId value) {
  const ValueGraph& values = checkpoint_.values;
  const auto pairs = keyed_pairs(values, value);
  // Of a dict that a Counter was made of, and that is held elsewhere, too, each entry is one.
  const ValueId given = given_pairs(values, value);
  const bool is_givens = given != no_value && values.kind(given) == ValueKind::dict && values.first_effect(value) == 0;
  const auto [first, fresh] = first_entry_.try_emplace(is_givens ? given : value, entries_.size());
  std::vector<Child> children;
  std::set<std::pair<std::string, ValueId>> keyed;
  const bool mapping = is_mapping(values, value);
  for (const MappingEntry& pair : pairs) {
    if (fresh) entries_.push_back({value, pair});
    std::string part = python_str(values, pair.key);
    parts_.spend(part.size());
    children.push_back({std::move(part), pair.value, first->second + children.size()});
    if (!mapping) keyed.emplace(children.back().part, pair.value);
  }
  if (mapping) return children;
  const NamedChildren named = named_children(values, value, parts_);
  for (std::size_t i = 0; i < named.size(); ++i) {
    std::string part(named.part(i));
    if (!keyed.contains({part, named.value(i)})) children.push_back({std::move(part), named.value(i), no_entry});
  }
  return children;
}

void EntryWalk::open(ValueId value, std::size_t entry, bool inside) {
  if (is_tensor_[value] || on_path_[value]) return;
  std::vector<Child> children = children_of(value);
  if (children.empty()) return;
  if (entry != no_entry) around_.push_back(entry);
  on_path_[value] = true;
  open_.push_back({value, path_.size(), around_.size(), inside, std::move(children), 0});
}

void EntryWalk::count_step() {
  path_bytes_ += path_.size();
  if (const std::uint64_t most = limits::walk_step_cap(checkpoint_.values.extent()); ++steps_ > most)
    throw Error(ErrorCode::limit_exceeded,
                "containers of the file hold each other more than " + std::to_string(most) + " times over")
        .in(checkpoint_.file);
  if (path_bytes_ > limits::walked_name_bytes)
    throw Error(ErrorCode::limit_exceeded,
                "the names in the file take more than " + std::to_string(limits::walked_name_bytes) + " bytes")
        .in(checkpoint_.file);
}

void EntryWalk::run(const Visit& visit) {
  if (checkpoint_.root == no_value) return;
  if (is_tensor_[checkpoint_.root]) static_cast<void>(visit({}));
  open(checkpoint_.root, no_entry, false);
  while (!open_.empty()) {
    Open& at = open_.back();
    path_.resize(at.path_size);
    around_.resize(at.around_size);
    if (at.next == at.children.size()) {
      on_path_[at.value] = false;
      open_.pop_back();
      continue;
    }
    const Child child = std::move(at.children[at.next++]);
    if (!path_.empty() || open_.size() > 1) path_ += '.';
    path_ += child.part;
    count_step();
    const bool inside = visit({path_, child.entry, checkpoint_.values.kind(at.value), at.inside});
    open(child.value, child.entry, inside);
  }
}

}  // namespace ckpt
