#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "formats/torch_files.h"

/// Small test sets in every form, and models that they are for.
namespace ckpt::eval_testing {

using io_testing::Bytes;
using Shape = std::vector<std::int64_t>;

template <class T>
Bytes raw(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// 0, 1, 2 … 255, 0, 1 …
Bytes counted(std::size_t count);

/// An IDX file of those sizes.
Bytes idx(const Shape& shape, const Bytes& elements, unsigned char type = 8);
/// `count` pictures of 2 × 3 counted bytes.
Bytes idx_images(std::int64_t count);
/// Labels 0, 1, 2, 0 …
Bytes idx_labels(std::int64_t count);

/// A tensor with a storage of its own; contiguous unless told.
struct TensorSpec {
  std::string type;  ///< "Byte", "Float", "Long" …
  Shape shape;
  Bytes bytes;
  Shape stride = {};
  std::int64_t offset = 0;
};

/// torch.save of a tuple, a list, a dict with those keys.
Bytes saved_tuple(const std::vector<TensorSpec>& tensors);
Bytes saved_list(const std::vector<TensorSpec>& tensors);
Bytes saved_dict(const std::vector<std::pair<std::string, TensorSpec>>& tensors);

/// `count` inputs of 2 × 3 counted bytes with classes 0, 1, 2, 0 …
Bytes batch(std::int64_t count);
TensorSpec small_inputs(std::int64_t count);
TensorSpec small_classes(std::int64_t count);

/// Takes [6], tells three classes apart.
eval::Signature small_model();
/// Takes [3, 2, 2], reads two of "ab1".
eval::Signature small_reader();

/// What read() gives for all of it, in steps.
struct Everything {
  Bytes inputs;
  std::vector<std::int32_t> labels;
};
Everything read_all(eval::Dataset& data, std::uint64_t step = 1000);

std::unique_ptr<eval::Dataset> opened(const std::string& path, const eval::Signature& signature,
                                      const std::string& split = "testing");

}  // namespace ckpt::eval_testing
