#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace ckpt::eval {

/// A data set of batches, one after the other. `path`: what messages call it. One file is open at a time, and slices of
/// it are read; of targets only those of that file are held. Throws Error as Batch does, and unsupported where samples
/// of one file are not like those of the first.
std::unique_ptr<Dataset> open_tensors(const std::string& path, const std::vector<std::string>& files,
                                      const std::string& split);

}  // namespace ckpt::eval
