#pragma once

#include <string>
#include <vector>

#include "models/architecture.h"

namespace ckpt::eval {

/// The tensors of the state dict at `root` by name, shape and dtype.
std::vector<ModelTensor> listed_tensors(const Checkpoint& checkpoint, const std::string& root);

/// A file as it was read, and where its state dict is, or the whole module that makes one.
struct AsRead {
  const Checkpoint& checkpoint;
  const std::string& root;
};

/// The command after which `file` has these tensors, but for a prefix of DataParallel; empty where none is known.
std::string mending_command(const AsRead& file, std::vector<ModelTensor> tensors);

/// The command that makes the state dict one of the architecture's, `tensors`, or what else to do about a report that
/// says what keeps it from being that; empty where neither is known.
std::string fix_hint(const Architecture& architecture, const CheckReport& report, const AsRead& file,
                     const std::vector<ModelTensor>& tensors);

/// The first architecture whose keys and shapes are those of the state dict at the root; `checkpoint` is `file`
/// unpacked, and without DataParallel's prefix. Throws Error (unsupported) where there is none, with the closest and
/// what keeps it from being that.
const Architecture& recognise(const Checkpoint& checkpoint, const AsRead& file);

}  // namespace ckpt::eval
