#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "model/model_names.h"
#include "model/rooted.h"
#include "model/walk.h"
#include "ops/prune.h"
#include "ops/root.h"
#include "ops/whole_module.h"

namespace ckpt {
namespace {

/// The value that lies at `path` below the root; no_value where none does. Keys may hold dots themselves, so that a
/// path may be cut into parts in several ways. Throws Error (invalid_argument) where several lead to values.
ValueId find_value(const Checkpoint& checkpoint, std::string_view path) {
  if (path.empty()) return checkpoint.root;
  require_root(checkpoint);
  std::vector<bool> is_tensor(checkpoint.values.size());
  for (const Tensor& tensor : checkpoint.tensors) is_tensor[tensor.value] = true;
  std::vector<std::pair<ValueId, std::string_view>> open{{checkpoint.root, path}};
  std::set<std::pair<ValueId, std::size_t>> seen;
  NameBudget budget(checkpoint.file);
  ValueId found = no_value;
  while (!open.empty()) {
    const auto [value, rest] = open.back();
    open.pop_back();
    if (rest.data() == nullptr) {
      if (found != no_value && found != value)
        throw Error(ErrorCode::invalid_argument, "several values lie at '" + std::string(path) + "'")
            .expected("one")
            .in(checkpoint.file)
            .hint("ckpt inspect " + shell_word(checkpoint.file) + " lists them");
      found = value;
      continue;
    }
    if (is_tensor[value] || !seen.emplace(value, rest.size()).second) continue;
    const NamedChildren children = named_children(checkpoint.values, value, budget);
    for (std::size_t i = children.size(); i-- > 0;) {
      const std::string_view part = children.part(i);
      const auto below = name_below(part, rest);
      if (rest == part)
        open.emplace_back(children.value(i), std::string_view());
      else if (below && !part.empty())
        open.emplace_back(children.value(i), *below);
      else if (part.empty() && rest.starts_with('.'))
        open.emplace_back(children.value(i), rest.substr(1));
    }
  }
  return found;
}

/// What `dict`, which is at none of the usual places, leaves behind: it may be a part of the model alone.
void warn_of_choice(Checkpoint& checkpoint, const StateDict& dict) {
  std::vector<std::string_view> known{dict.path};
  const std::vector<OptimizerState> optimizers = find_optimizer_states(checkpoint);
  for (const OptimizerState& optimizer : optimizers)
    for (const OptimizerState::Part& part : optimizer.parts) known.push_back(part.path);
  // None of them lies below another: a dot being the least, the one before a name is the one that it may lie below.
  const auto before = [](std::string_view a, std::string_view b) {
    const auto rank = [](char c) { return c == '.' ? 0 : static_cast<unsigned char>(c) + 1; };
    return std::ranges::lexicographical_compare(a, b, {}, rank, rank);
  };
  std::ranges::sort(known, before);
  const std::vector<NamedTensor> names = tensor_names(checkpoint);
  std::unordered_set<const Tensor*> taken;  // under another name, too
  for (const NamedTensor& named : names) {
    const auto behind = std::ranges::upper_bound(known, std::string_view(named.name), before);
    if (behind != known.begin() && name_below(*std::prev(behind), named.name)) taken.insert(named.tensor);
  }
  std::size_t count = 0;
  std::string first;
  for (const NamedTensor& named : names)
    if (!taken.contains(named.tensor) && count++ == 0) first = named.name;
  if (count > 0)
    checkpoint.warnings.push_back("the only state dict is at '" + dict.path +
                                  "', and is what is taken: " + std::to_string(count) +
                                  (count == 1 ? " tensor is" : " tensors are") + " elsewhere, such as '" + first + "'");
}

}  // namespace

Checkpoint take_root(Checkpoint checkpoint, std::string_view root) {
  StateDict found{std::string(root)};
  if (root == "auto") {
    checkpoint = unpack_modules(std::move(checkpoint));
    found = find_state_dict(checkpoint, root);
    if (std::ranges::find(usual_paths, found.path) == usual_paths.end()) warn_of_choice(checkpoint, found);
  }
  if (found.path.empty()) return checkpoint;
  refuse_part(checkpoint);
  if (found.value == no_value) found.value = find_value(checkpoint, found.path);
  if (found.value == no_value)
    throw Error(ErrorCode::invalid_argument, "nothing lies at '" + found.path + "'")
        .expected("the path of a value")
        .in(checkpoint.file);
  checkpoint.root = found.value;
  return prune(std::move(checkpoint));
}

}  // namespace ckpt
