#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/tensor_reader.h"
#include "datasets/dataset.h"
#include "datasets/shape.h"

namespace ckpt::eval {

/// One file with a tensor of inputs and one of targets, in any format that libckpt reads: a tuple, a list, a
/// TensorDataset, or a mapping whose keys say which is which.
class Batch {
 public:
  /// Reads no more than the object. `split` chooses between x_test and x_train. Throws Error, naming the file: what
  /// ckpt::load() throws; unsupported (no such pair, dtypes that are no inputs, counts that differ); invalid_argument
  /// (several pairs).
  Batch(const std::string& path, const std::string& split);

  [[nodiscard]] const std::string& path() const { return checkpoint_.file; }
  /// The paths of what it is read from: the file, and others that it is made of.
  [[nodiscard]] std::vector<std::string> files() const { return files_of(checkpoint_); }
  [[nodiscard]] std::uint64_t size() const { return inputs_->rows(); }
  /// Of one sample.
  [[nodiscard]] const Shape& input_shape() const { return input_shape_; }
  [[nodiscard]] const Shape& target_shape() const { return target_shape_; }
  /// Of what read_inputs() gives: uint8 or float32.
  [[nodiscard]] DType dtype() const { return input_dtype_ == DType::uint8 ? DType::uint8 : DType::float32; }

  /// Throws Error (unsupported) where its targets do not fit.
  void check_targets(const Signature& signature) const;
  /// All of them, [size, positions]; `first`: the index of its first sample in the data set. Throws Error.
  [[nodiscard]] std::vector<std::int32_t> read_labels(const Signature& signature, std::uint64_t first) const;
  /// Inputs [first, first + count), the shape as it is. With the last of them the file's checksums are compared.
  [[nodiscard]] std::vector<std::byte> read_inputs(std::uint64_t first, std::uint64_t count);
  /// What a user should know of the file, as far as it has been read.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return checkpoint_.warnings; }

 private:
  /// Throws Error, with what to do about a tensor that cannot be read in rows.
  void open(std::optional<TensorReader>& reader, const NamedTensor& tensor);

  Checkpoint checkpoint_;
  std::optional<TensorReader> inputs_, targets_;
  DType input_dtype_{}, target_dtype_{};
  Shape input_shape_, target_shape_;
  bool finished_ = false;
};

}  // namespace ckpt::eval
