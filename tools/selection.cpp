#include "selection.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/tensor_ops.h"
#include "console/messages.h"
#include "console/render.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

/// A hint for a part of a file, for the file: its paths are those below `above`.
std::string below(const std::string& hint, const std::string& above) {
  constexpr std::string_view option = "--root ";
  const std::string root = std::string(option) + shell_value(above);
  std::string whole;
  std::size_t from = 0;
  for (std::size_t at = hint.find(option); at != std::string::npos; at = hint.find(option, from)) {
    whole += hint.substr(from, at - from) + root + ".";
    from = at + option.size();
  }
  whole += hint.substr(from);
  const std::size_t glob = std::min(whole.find("--drop "), whole.find("--keep "));
  if (glob != std::string::npos && whole.find(option) > glob) whole.insert(glob, root + " ");
  return whole;
}

/// `above`: the path that `root` is relative to, for the hint.
Checkpoint take(Checkpoint checkpoint, const std::string& root, const std::string& above = {}) {
  const std::string file = checkpoint.file;
  const std::size_t told = checkpoint.warnings.size();
  try {
    checkpoint = take_root(std::move(checkpoint), root);
    for (std::size_t i = told; i < checkpoint.warnings.size(); ++i) print_warning(file + ": " + checkpoint.warnings[i]);
    return checkpoint;
  } catch (Error& error) {
    const std::string hint = error.hint();
    if (!above.empty()) error.hint(below(hint, above));
    if (hint.empty()) error.hint("ckpt inspect " + shell_word(file) + " lists the names and the state dicts");
    throw;
  }
}

void warn_of_idle(const std::string& file, const std::string& option, const std::vector<std::string>& globs) {
  for (const std::string& glob : globs) print_warning(file + ": " + option + " '" + glob + "' matches nothing");
}

Checkpoint with_names(Checkpoint checkpoint, const SelectionOptions& options) {
  try {
    auto [selected, report] = select(std::move(checkpoint), options.globs);
    warn_of_idle(selected.file, "--keep", report.idle_keep);
    warn_of_idle(selected.file, "--drop", report.idle_drop);
    return std::move(selected);
  } catch (Error& error) {
    const std::string hint = error.hint();
    if ((options.root || options.weights_only) && hint.ends_with(" lists the names"))
      error.hint(hint + ", which are those of the part without the name of the part itself");
    throw;
  }
}

Checkpoint without_optimizers(Checkpoint checkpoint, std::vector<std::string>& done) {
  auto [stripped, report] = strip_optimizer(std::move(checkpoint));
  for (const std::string& path : report.left)
    print_warning(stripped.file + ": the optimizer's state at '" + path +
                  "' is held by an object, or in a list with other things, and stays");
  if (report.removed.empty() && report.left.empty())
    print_warning(stripped.file + ": --strip-optimizer finds no optimizer's state");
  done.push_back(count_text(report.removed.size(), "optimizer state") + " dropped");
  return std::move(stripped);
}

}  // namespace

void define_selection_options(Arguments& arguments, SelectionOptions& options) {
  arguments.value("--root", "PATH", options.root,
                  "only the value at PATH, as the whole object; 'auto': the state dict");
  arguments.flag("--weights-only", options.weights_only,
                 "only the state dict, as torch.load(weights_only=True) takes it; of a whole module, what its "
                 "state_dict() gives");
  arguments.values("--keep", "GLOB", options.globs.keep,
                   "only entries whose name matches, and what is below them; * crosses dots");
  arguments.values("--drop", "GLOB", options.globs.drop, "without entries whose name matches; after --keep");
  arguments.flag("--strip-optimizer", options.strip_optimizer, "without optimizers' states");
}

std::optional<int> protocol_of(const SelectionOptions& options) {
  return options.weights_only ? std::optional(2) : std::nullopt;
}

Checkpoint take_part(Checkpoint checkpoint, const SelectionOptions& options, std::vector<std::string>& done) {
  const bool globs = !options.globs.keep.empty() || !options.globs.drop.empty();
  if (!options.root && !options.weights_only && !globs && !options.strip_optimizer) return checkpoint;
  const std::size_t tensors = count_tensors(checkpoint);
  const std::uint64_t bytes = storage_bytes(checkpoint);
  const std::string root = options.root.value_or("");
  if (options.root) checkpoint = take(std::move(checkpoint), root);
  if (options.weights_only)
    checkpoint = arrays_as_tensors(take(std::move(checkpoint), "auto", root == "auto" ? "" : root));
  if (globs) checkpoint = with_names(std::move(checkpoint), options);
  if (options.strip_optimizer) checkpoint = without_optimizers(std::move(checkpoint), done);
  const std::size_t left = count_tensors(checkpoint);
  const std::size_t dropped = tensors - std::min(tensors, left);  // tied parameters of a module become several tensors
  // A root without tensors was asked for by its name.
  if ((globs || options.strip_optimizer) && tensors > 0 && left == 0)
    throw Error(ErrorCode::invalid_argument, "what is selected holds no tensor")
        .expected("one at least")
        .in(checkpoint.file)
        .hint("ckpt inspect " + shell_word(checkpoint.file) + " lists the names");
  done.push_back(dropped == 0 ? "no tensor dropped"
                              : count_text(dropped) + " of " + count_text(tensors, "tensor") + " dropped, " +
                                    size_text(bytes - storage_bytes(checkpoint)));
  return checkpoint;
}

}  // namespace ckpt::tools
