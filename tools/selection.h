#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/ops.h"
#include "console/arguments.h"

/// Writing a part of a checkpoint: --root, --weights-only, --keep, --drop, --strip-optimizer.
namespace ckpt::tools {

struct SelectionOptions {
  std::optional<std::string> root;
  bool weights_only = false;
  Selection globs;
  bool strip_optimizer = false;
};

void define_selection_options(Arguments& arguments, SelectionOptions& options);

/// What torch.load(weights_only=True) takes, whatever the source was; none where it is not asked for.
std::optional<int> protocol_of(const SelectionOptions& options);

/// The part that the options name; adds to `done` what was left out, and warns of globs that match nothing.
Checkpoint take_part(Checkpoint checkpoint, const SelectionOptions& options, std::vector<std::string>& done);

}  // namespace ckpt::tools
