#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

namespace ckpt {

/// Reads the elements of one tensor in the order of their indices, contiguous and little-endian, whatever its strides
/// and the file's byte order; views are resolved.
///
///     for (const NamedTensor& named : tensor_names(checkpoint)) {
///       TensorReader reader(checkpoint, named);
///       std::vector<std::byte> bytes(reader.rows() * reader.row_bytes());
///       reader.read(0, reader.rows(), bytes);
///     }
///
/// Holds no more than a few MiB beside what it is given to fill. Reading rows forward is cheap. Any thread may
/// read; those that share a source which is not concurrent (ByteSource::is_concurrent()) take turns.
class CKPT_API TensorReader {
 public:
  /// Shares the storage with the checkpoint, which need not outlive it. Throws Error, naming tensor and file:
  /// unsupported (sparse or nested, a device's that is held as a numpy array, without bytes), limit_exceeded (a view
  /// that stands for far more bytes than there are), corrupt (a view that leaves its storage).
  TensorReader(const Checkpoint& checkpoint, const NamedTensor& tensor);

  /// The size of the first dimension; 1 of a tensor that has none. Elements of packed types (quint4x2) are counted by
  /// the byte, as packed() (ckpt/tensor.h) does: of such a tensor with one dimension, rows are bytes.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Bytes of one row, contiguous.
  [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }

  /// Rows [first, first + count) into `out`, which has count * row_bytes() bytes. Where all bytes of a storage have
  /// been read forward, they are compared with the checksum that the container recorded, if it did. Throws Error,
  /// naming tensor and file: invalid_argument (rows past the last), and what reading throws.
  void read(std::uint64_t first, std::uint64_t count, std::span<std::byte> out) const;

 private:
  Storage storage_;
  TensorInfo info_;
  std::uint64_t rows_ = 1, row_bytes_ = 0;
  std::string name_, file_;
};

}  // namespace ckpt
