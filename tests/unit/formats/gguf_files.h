#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/bytes.h"

/// GGUF files by hand, every part of which can lie.
namespace ckpt::gguf_testing {

inline std::string text(std::string_view value) {
  std::string out;
  append_le(out, static_cast<std::uint64_t>(value.size()));
  return out.append(value);
}

template <class T>
std::string number(T value) {
  std::string out;
  append_le(out, value);
  return out;
}

/// A key, the number of a type, and the bytes of the value.
inline std::string entry(std::string_view key, std::uint32_t type, std::string_view value) {
  return text(key) + number(type) + std::string(value);
}

struct Tensor {
  std::string name = "w";
  std::vector<std::uint64_t> sizes = {4};  ///< the fastest first, as the file has them
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
};

struct File {
  std::vector<Tensor> tensors = {};
  std::vector<std::string> metadata = {};
  std::string data = std::string(16, '\1');
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::uint64_t more_tensors = 0, more_metadata = 0;  ///< that are counted and not there
};

inline std::string gguf(const File& file) {
  std::string out = "GGUF" + number(file.version) + number<std::uint64_t>(file.tensors.size() + file.more_tensors) +
                    number<std::uint64_t>(file.metadata.size() + file.more_metadata);
  for (const std::string& value : file.metadata) out += value;
  for (const Tensor& tensor : file.tensors) {
    out += text(tensor.name) + number(static_cast<std::uint32_t>(tensor.sizes.size()));
    for (const std::uint64_t size : tensor.sizes) out += number(size);
    out += number(tensor.type) + number(tensor.offset);
  }
  out.resize((out.size() + file.alignment - 1) / file.alignment * file.alignment);
  return out + file.data;
}

}  // namespace ckpt::gguf_testing
