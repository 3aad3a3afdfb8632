#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/gzip.h"
#include "datasets/dataset.h"
#include "datasets/shape.h"

namespace ckpt::eval {

/// A file of MNIST's format: two zero bytes, the type (8: unsigned bytes), the number of dimensions, their sizes as
/// big-endian 32-bit integers, the elements (yann.lecun.com/exdb/mnist).
class IdxFile {
 public:
  /// Compressed by gzip or not, whatever its name. Throws Error: unsupported (another type), corrupt, truncated, io.
  explicit IdxFile(ByteSourcePtr bytes);

  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// Elements [first, first + count), a byte each; `last`: what follows them must be the end. Memory grows as bytes
  /// arrive. Throws Error: truncated, corrupt (bytes after the end), and what inflating throws.
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t first, std::uint64_t count, bool last) const;
  /// Bytes after its gzip stream that belong to nothing, as far as it has been read.
  [[nodiscard]] std::uint64_t trailing_bytes() const { return gzip_trailing_bytes(*bytes_); }
  [[nodiscard]] std::string name() const { return bytes_->name(); }

 private:
  ByteSourcePtr bytes_;
  std::uint64_t header_ = 0;
  Shape shape_;
};

/// Whether inflated bytes begin as an IDX file does.
bool is_idx(const ByteSource& source);

/// The file that holds the labels of a file of images, by name: t10k-images-idx3-ubyte[.gz] has
/// t10k-labels-idx1-ubyte[.gz] beside it, either with a dot in place of the second hyphen. Nothing where there is none.
std::optional<std::string> idx_labels_beside(const std::string& images);

/// Images and labels of an IDX pair. Throws Error as IdxFile does, and invalid_argument where `images` is no name of
/// images or has no labels beside it.
std::unique_ptr<Dataset> open_idx(const std::string& images);

}  // namespace ckpt::eval
