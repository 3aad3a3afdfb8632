#pragma once

#include <string>
#include <vector>

namespace ckpt::eval {

/// The batches of a split in a folder, in numeric order: SPLIT_set.0.pt, SPLIT_set.1.pt …, or .pt.gz. Throws Error
/// (truncated) where one is missing below the greatest number, naming it.
std::vector<std::string> batch_files(const std::string& folder, const std::string& split);

}  // namespace ckpt::eval
