#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mnist {

/// One of MNIST's files: big-endian 0x0000080N with N dimensions, their sizes as 32-bit integers, a byte an element.
struct Idx {
  std::vector<std::uint32_t> shape;
  std::vector<std::uint8_t> bytes;
};

/// Compressed by gzip or not, whatever its name. Throws ckpt::Error: unsupported, corrupt, truncated, io.
Idx read_idx(const std::string& path);
/// Not compressed; whole or not at all.
void write_idx(const Idx& idx, const std::string& path);

/// The names of the two files of "train" or "t10k" (the test set), as torchvision keeps them below MNIST/raw.
std::string images_name(const std::string& set);
std::string labels_name(const std::string& set);

}  // namespace mnist
