#pragma once

#include <string>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt::eval {

/// The paths of all files that the checkpoint is read from.
std::vector<std::string> files_of(const Checkpoint& checkpoint);

}  // namespace ckpt::eval
