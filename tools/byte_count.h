#pragma once

#include <cstdint>
#include <string>

namespace ckpt::tools {

/// "500MB", "5GB", "2GiB", "1000000". Throws Error (invalid_argument) that names `option`.
std::uint64_t number_of_bytes(const std::string& option, const std::string& text);

inline constexpr std::uint64_t default_shard_bytes = 5'000'000'000;  // huggingface_hub's

}  // namespace ckpt::tools
