#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/keyed_hash.h"

/// What torch's HuggingFaceStorageWriter says in a file of safetensors of where its tensors stand in whole ones
/// (torch/distributed/checkpoint/_hf_utils.py).
namespace ckpt::named_tensors {

inline constexpr std::string_view sharding_key = "DCP_SHARDING_INFO";

/// By name: where the chunk begins in each of the tensor's dimensions.
using Offsets = NameMap<std::vector<std::int64_t>>;

/// {"NAME": {"saved_offsets": [0, 128]}, …}. Throws Error: corrupt.
Offsets parse_offsets(const std::string& text);

/// A warning where the file says of itself that it holds pieces; empty else.
std::string warning_of_pieces(const std::vector<std::pair<std::string, std::string>>& metadata,
                              const std::string& file);

/// Whether it speaks of these tensors, and of no other: what an edit has renamed, or joined with others, it does not.
bool is_about(const std::string& text, const std::vector<std::string>& names);

}  // namespace ckpt::named_tensors
