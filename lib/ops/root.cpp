#include "ops/root.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "model/model_names.h"
#include "model/python_str.h"
#include "model/walk.h"
#include "ops/dense_tensor.h"

namespace ckpt {
namespace {

constexpr std::size_t paths_shown = 8;

/// Which of its entries keep `mixed` from being a state dict, as globs over names; none where there are many, or
/// where one may be the model's and tensors would go with it.
std::vector<std::string> others_in(const Checkpoint& checkpoint, const StateDict& mixed) {
  constexpr std::size_t most = 3;
  const ValueGraph& values = checkpoint.values;
  std::unordered_set<ValueId> tensors;
  for (const Tensor& tensor : checkpoint.tensors) tensors.insert(tensor.value);
  const std::vector<bool> holds_tensors = values_holding_tensors(checkpoint);
  std::vector<std::string> globs;
  for (const MappingEntry& entry : mapping_entries(values, mixed.value)) {
    const bool is_named = values.is_string(entry.key);
    const bool fits = tensors.contains(entry.value) || values.kind(entry.value) == ValueKind::none ||
                      (is_named && may_hold_anything(values.text(entry.key)));
    if (fits && is_named) continue;
    const bool is_models = !mixed.path.empty() || (is_named && is_models_key(values.text(entry.key)));
    if (globs.size() == most || (is_models && holds_tensors[entry.value])) return {};
    globs.push_back(escaped_glob(part_name(mixed.path, python_str(values, entry.key))));
  }
  return globs;
}

const StateDict* find_at(const std::vector<StateDict>& dicts, std::string_view path) {
  const auto found = std::ranges::find(dicts, path, &StateDict::path);
  return found == dicts.end() ? nullptr : &*found;
}

/// Arrays of numpy's become tensors only in a state dict, and on the way through npz.
std::string hint_for_arrays(const Checkpoint& checkpoint, const StateDict& mixed) {
  std::string hint = "ckpt convert " + shell_word(checkpoint.file) + " OTHER.npz";
  if (!mixed.path.empty()) hint += " --root " + shell_value(mixed.path);
  for (const std::string& glob : others_in(checkpoint, {.path = "", .value = mixed.value}))
    hint += " --drop " + shell_value(glob);
  return hint + " first, then ckpt convert OTHER.npz OUT";
}

/// Another mapping could be taken, and nobody would notice which.
[[noreturn]] void refuse_mixed(const Checkpoint& checkpoint, const Parts& found, const StateDict& mixed) {
  std::string drops, others;
  for (const std::string& glob : others_in(checkpoint, mixed)) {
    drops += " --drop " + shell_value(glob);
    others += (others.empty() ? " (" : ", ") + glob;
  }
  const std::string where = mixed.path.empty() ? "the root" : "'" + mixed.path + "'";
  const bool are_arrays = std::ranges::any_of(checkpoint.tensors, &Tensor::array);
  std::string hint = are_arrays && !drops.empty()
                         ? hint_for_arrays(checkpoint, mixed)
                         : "ckpt convert " + shell_word(checkpoint.file) + " OUT" +
                               (drops.empty() ? " --keep GLOB takes its tensors" : drops + " makes a state dict of it");
  if (!found.state_dicts.empty()) hint += "; --root " + shell_value(found.state_dicts.front().path) + " takes another";
  throw Error(ErrorCode::invalid_argument,
              where + " holds a model's tensors beside other values" + (others.empty() ? "" : others + ")"))
      .expected("a mapping of names to tensors alone")
      .in(checkpoint.file)
      .hint(std::move(hint));
}

[[noreturn]] void refuse_choice(const Checkpoint& checkpoint, const Parts& parts) {
  const std::vector<StateDict>& found = parts.state_dicts;
  if (found.empty() && !parts.modules.empty()) {
    const std::string options = weights_only_options(checkpoint, parts);
    throw Error(ErrorCode::invalid_argument, "the file holds a whole module and no state dict")
        .expected("a mapping of names to tensors")
        .in(checkpoint.file)
        .hint("ckpt " + (options.empty() ? "inspect " + shell_word(checkpoint.file)
                                         : "convert " + shell_word(checkpoint.file) + " OUT " + options));
  }
  if (found.empty()) {
    throw Error(ErrorCode::invalid_argument, "no state dict was found")
        .expected("a mapping of names to tensors")
        .in(checkpoint.file)
        .hint("ckpt inspect " + shell_word(checkpoint.file));
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(found.size(), paths_shown); ++i) list += (i == 0 ? "" : ", ") + found[i].path;
  if (found.size() > paths_shown) list += ", …";
  throw Error(ErrorCode::invalid_argument, std::to_string(found.size()) + " state dicts were found: " + list)
      .expected("one, or one to be named")
      .in(checkpoint.file)
      .hint("--root " + shell_value(found.front().path));
}

}  // namespace

std::string resolve_root(const Checkpoint& checkpoint, std::string_view root) {
  if (root != "auto") return std::string(root);
  const Parts found = find_parts(checkpoint);
  for (const std::string_view path : usual_paths) {
    if (find_at(found.state_dicts, path) != nullptr) return std::string(path);
    if (const StateDict* const mixed = find_at(found.mixed, path)) refuse_mixed(checkpoint, found, *mixed);
  }
  const std::size_t count = each_once(found.state_dicts).size();
  if (count < 2 && !found.mixed.empty()) refuse_mixed(checkpoint, found, found.mixed.front());
  if (count != 1) refuse_choice(checkpoint, found);
  return found.state_dicts.front().path;
}

void refuse_mixed_model(const Checkpoint& checkpoint, const Parts& parts) {
  for (const std::string_view path : usual_paths)
    if (const StateDict* const mixed = find_at(parts.mixed, path)) refuse_mixed(checkpoint, parts, *mixed);
}

std::vector<StateDict> each_once(std::vector<StateDict> dicts) {
  std::unordered_set<ValueId> seen;
  std::erase_if(dicts, [&](const StateDict& dict) { return !seen.insert(dict.value).second; });
  return dicts;
}

ModelDicts model_dicts(const ValueGraph& values, std::vector<StateDict> dicts) {
  ModelDicts found;
  const std::unordered_set<ValueId> models = models_of(values, dicts);
  for (StateDict& dict : dicts) (models.contains(dict.value) ? found.models : found.others).push_back(std::move(dict));
  if (found.models.empty()) found.models.swap(found.others);
  return found;
}

StateDict find_state_dict(const Checkpoint& checkpoint, std::string_view root) {
  const std::string path = resolve_root(checkpoint, root);
  for (StateDict& dict : find_state_dicts(checkpoint))
    if (dict.path == path) return std::move(dict);
  throw no_state_dict_at(checkpoint, path);
}

Error no_state_dict_at(const Checkpoint& checkpoint, std::string_view path) {
  return Error(ErrorCode::invalid_argument,
               path.empty() ? "the root is no state dict" : "no state dict lies at '" + std::string(path) + "'")
      .expected("a mapping of names to tensors")
      .in(checkpoint.file)
      .hint("ckpt inspect " + shell_word(checkpoint.file) + " lists the state dicts");
}

std::optional<std::string_view> name_below(std::string_view root, std::string_view name) {
  if (root.empty()) return name;
  if (!name.starts_with(root)) return std::nullopt;
  name.remove_prefix(root.size());
  if (name.empty()) return name;
  if (name.front() != '.') return std::nullopt;
  return name.substr(1);
}

std::vector<NamedTensor> tensors_below(const Checkpoint& checkpoint, std::string_view root) {
  std::vector<NamedTensor> names = tensor_names(checkpoint);
  if (root.empty()) return names;
  std::erase_if(names, [&](NamedTensor& named) {
    const auto name = name_below(root, named.name);
    if (name) named.name.erase(0, named.name.size() - name->size());
    return !name;
  });
  if (names.empty())
    throw Error(ErrorCode::invalid_argument, "no tensor lies below '" + std::string(root) + "'")
        .expected("the path of a state dict");
  return names;
}

}  // namespace ckpt
