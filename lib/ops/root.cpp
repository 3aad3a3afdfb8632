#include "ops/root.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"

namespace ckpt {
namespace {

/// Paths that trainers keep the weights under, the likeliest first; the empty one is the root.
constexpr std::array<std::string_view, 5> usual_paths{"", "state_dict", "model_state_dict", "model", "net"};
constexpr std::size_t paths_shown = 8;

[[noreturn]] void refuse_choice(const Checkpoint& checkpoint, const std::vector<StateDict>& found) {
  if (found.empty() && !find_modules(checkpoint).empty()) {
    throw Error(ErrorCode::invalid_argument, "the file holds a whole module and no state dict")
        .expected("a mapping of names to tensors")
        .in(checkpoint.file)
        .hint("ckpt convert " + shell_word(checkpoint.file) + " OUT --weights-only");
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
  const std::vector<StateDict> found = find_state_dicts(checkpoint);
  for (std::string_view path : usual_paths) {
    if (std::any_of(found.begin(), found.end(), [&](const StateDict& dict) { return dict.path == path; })) {
      return std::string(path);
    }
  }
  if (found.size() != 1) refuse_choice(checkpoint, found);
  return found.front().path;
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
