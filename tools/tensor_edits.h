#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/dtype.h"
#include "console/arguments.h"

/// What convert does to tensors' bytes: --contiguous, --compact, --dedupe, --dtype.
namespace ckpt::tools {

struct TensorEditOptions {
  bool contiguous = false, compact = false, dedupe = false;
  std::optional<std::string> dtype;
  std::vector<std::string> except;
};

/// What --dtype means: a dtype that cast() makes, by torch's name or a short one (fp16, bf16, half, float, double).
/// Throws Error (invalid_argument) for every other name.
DType dtype_to_cast(const std::string& name);

void define_tensor_edit_options(Arguments& arguments, TensorEditOptions& options);

/// Throws Error (invalid_argument) where the options make no sense.
void check_tensor_edits(const TensorEditOptions& options);

/// In that order; adds to `done` what each has done.
Checkpoint edit_tensors(Checkpoint checkpoint, const TensorEditOptions& options, std::vector<std::string>& done);

}  // namespace ckpt::tools
