#pragma once

#include <string>
#include <vector>

namespace ckpt::eval {

/// Names of what lies in a folder, numbers in them in numeric order. Throws Error (io).
std::vector<std::string> names_in(const std::string& folder);

/// The batches of a split in a folder, in numeric order: SPLIT_set.0.pt, SPLIT_set.1.pt …, or .pt.gz. Throws Error
/// (truncated) where one is missing below the greatest number, naming it.
std::vector<std::string> batch_files(const std::string& folder, const std::string& split);

}  // namespace ckpt::eval
