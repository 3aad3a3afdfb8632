#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/bytes.h"
#include "io/io_testing.h"

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

/// A file of `count` tensors of `size` bytes, `step` names after one another modulo `count`: "1000", "1037", … Those of
/// "1000" + n are io_testing::random_bytes(size, n).
inline std::string shuffled(std::size_t count, std::size_t size, std::size_t step) {
  std::string header = "{", data;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t number = i * step % count;
    header += (i == 0 ? "\"" : ",\"") + std::to_string(1000 + number) +
              "\":" + entry("U8", "[" + std::to_string(size) + "]", i * size, (i + 1) * size);
    data += as_text(io_testing::random_bytes(size, static_cast<std::uint32_t>(number)));
  }
  return file(header + "}", data);
}

}  // namespace ckpt::safetensors_testing
