#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt::eval {

/// CUDA reads CUDA_VISIBLE_DEVICES word by word and stops, without a word about it, at the first that names no GPU, and
/// takes a GPU that is named twice as a reason to show none. This says so: half a sentence, or nothing where all words
/// are well. `uuids` are those of all GPUs by index. Words for MIG instances are not judged.
std::string visibility_fault(std::string_view variable, const std::vector<std::string>& uuids);

}  // namespace ckpt::eval
