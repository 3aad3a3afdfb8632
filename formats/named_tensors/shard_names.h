#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ckpt::shards {

/// What "model-00002-of-00005.safetensors" says.
struct ShardName {
  std::string stem;  ///< "model"
  std::uint32_t number = 0, count = 0;
  std::string suffix;  ///< ".safetensors"
};

/// None for any other name.
std::optional<ShardName> parse_shard_name(std::string_view name);
std::string shard_name(const ShardName& shard);

}  // namespace ckpt::shards
