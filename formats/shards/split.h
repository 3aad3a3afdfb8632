#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt::shards {

struct Split {
  std::vector<std::vector<std::size_t>> shards;  ///< indices of names, in their order
  std::vector<bool> is_view;                     ///< of each name: written as a view of another
  std::uint64_t bytes = 0;                       ///< of all that is written
};

/// Which tensor goes into which shard, as huggingface_hub's split_torch_state_dict_into_shards decides: in order, a new
/// shard where the next tensor would take the last one past `shard_bytes` (0: never), a tensor that is larger in one of
/// its own. What shares bytes stays together: with `whole_storages` whatever shares a storage, which is written whole;
/// else what is a view of another.
Split split(const Checkpoint& checkpoint, std::span<const NamedTensor> names, std::uint64_t shard_bytes,
            bool whole_storages);

}  // namespace ckpt::shards
