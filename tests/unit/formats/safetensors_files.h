#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/bytes.h"

/// safetensors files by hand, whose header says whatever a test wants.
namespace ckpt::safetensors_testing {

/// `length`: what is said of the header's instead of the truth.
inline std::string file(std::string_view header, std::string_view data = {}, std::optional<std::uint64_t> length = {}) {
  std::string bytes;
  append_le<std::uint64_t>(bytes, length.value_or(header.size()));
  return bytes.append(header).append(data);
}

inline std::string entry(std::string_view dtype, std::string_view shape, std::uint64_t begin, std::uint64_t end) {
  return "{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + std::string(shape) + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

}  // namespace ckpt::safetensors_testing
