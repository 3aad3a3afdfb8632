#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/dtype.h"
#include "ckpt/eval.h"

namespace ckpt::eval {

/// Consecutive samples of a data set, in host memory.
struct Samples {
  std::uint64_t first = 0, count = 0;
  DType dtype = DType::uint8;        ///< uint8 (to be normalised) or float32 (taken as it is)
  std::vector<std::byte> inputs;     ///< count times the elements of Signature::input, contiguous
  std::vector<std::int32_t> labels;  ///< [count, positions]; -1 where the data has none (pictures to be read)
};

/// Labelled samples, in an order of their own that never changes. Reading forward is cheap; one thread at a time.
///
///     const auto data = open_dataset(request);
///     data->bind(signature);
///     for (std::uint64_t at = 0; at < data->size(); at += 1000) use(data->read(at, 1000));
class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  /// The path that is read, for messages.
  [[nodiscard]] virtual const std::string& path() const = 0;
  /// The paths of all files that it is read from.
  [[nodiscard]] virtual std::vector<std::string> files() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// The shape of one sample's input as the data has it: {28, 28}, {3, 56, 24}. Empty where it is made to measure
  /// (pictures).
  [[nodiscard]] virtual std::vector<std::int64_t> input_shape() const = 0;
  /// How many numbers stand for one sample's target, as far as the data tells without a signature: 1 (a class), 4 (a
  /// class a position), 10 or 144 (one-hot).
  [[nodiscard]] virtual std::vector<std::int64_t> target_shape() const = 0;

  /// What the samples are for; before the first read(). Throws Error (unsupported) where they do not fit: shapes,
  /// number of classes, in words that name both sides.
  virtual void bind(const Signature& signature) = 0;

  /// Up to `count` samples from `first` on; fewer only at the end of the data or of a file of it.
  [[nodiscard]] virtual Samples read(std::uint64_t first, std::uint64_t count) = 0;
  /// The same without inputs, and none past the first file of the data: cheap where that is not.
  [[nodiscard]] virtual Samples labels(std::uint64_t first, std::uint64_t count) = 0;
  /// What a user should know of its files, as far as they have been read: each begins with the file's path.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }

 protected:
  Dataset() = default;
};

/// Where to look for data, and what for.
struct DataRequest {
  std::optional<std::string> data;  ///< what the user named; none: $CKPT_DATA, then beside the model, then ./data
  std::string split = "testing";
  std::string model;  ///< the model's path
  std::string arch;   ///< decides what fits where nothing was named
};

/// Opens IDX files, batches of tensors (torch.save, npz, safetensors) or a folder of pictures: what it is, content
/// says. Throws Error: invalid_argument where there is nothing to be found (with the command that says where it is),
/// corrupt, truncated, unsupported, io.
[[nodiscard]] std::unique_ptr<Dataset> open_dataset(const DataRequest& request);

/// A digest of samples that adds up: the sum modulo 2^256 of each sample's SHA-256 over its index (8 bytes,
/// little-endian), "uint8" or "float32", its input's bytes and its labels (4 bytes each). The same for any container,
/// compression, order of reading and division among machines.
class DataDigest {
 public:
  void add(const Samples& samples, std::size_t positions);
  DataDigest& operator+=(const DataDigest& other);
  /// 64 hexadecimal digits.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static DataDigest from_text(const std::string& digits);

 private:
  std::uint64_t words_[4] = {};  // least significant first
};

}  // namespace ckpt::eval
