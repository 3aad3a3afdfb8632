#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/limits.h"

namespace ckpt::shards {

/// {"metadata": {"total_size": 32}, "weight_map": {"w1": "model-00001-of-00002.safetensors", …}}
struct Index {
  std::vector<std::string> shards;  ///< by name, which is the order of their numbers
  /// Each tensor and the place of its shard in `shards`, in the index's order. None where the folder has no index.
  std::optional<std::vector<std::pair<std::string, std::uint32_t>>> weight_map;
  std::optional<std::uint64_t> total_size;  ///< bytes of all tensors
};

/// Whether an index names a file, as far as it is not broken, whose name does not end so; no value where this is no
/// index.
std::optional<bool> names_others(const ByteSource& source, std::string_view suffix);

/// Throws Error: corrupt, limit_exceeded (more bytes than `cap`).
Index read_index(const ByteSource& source, std::uint64_t cap = limits::index_bytes);

/// As transformers writes it, down to its spaces: json.dumps(…, indent=2, sort_keys=True).
std::string make_index(const Index& index);

/// In place of an index, of a folder that has none: read_index() takes it too.
std::string make_list(const std::vector<std::string>& shards);

}  // namespace ckpt::shards
