#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/dtype.h"
#include "ckpt/export.h"
#include "ckpt/value.h"

namespace ckpt {

enum class Layout : std::uint8_t { strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, nested };

/// "strided", "sparse_coo" …, torch's names.
CKPT_API std::string_view layout_name(Layout layout);

/// Shape, dtype and the way a tensor looks at its storage, in elements. `stride` is empty unless `layout` is strided.
struct TensorInfo {
  DType dtype{};
  Layout layout = Layout::strided;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;
  std::int64_t offset = 0;
  /// torch's lazy views: the values are the complex conjugates, the negatives, of what the storage holds.
  bool conjugate = false, negative = false;
};

/// Elements in all. The shape has been checked: the product fits 63 bits.
CKPT_API std::uint64_t element_count(const TensorInfo& info);
/// True where the elements lie one after the other in the order of the indices.
CKPT_API bool is_contiguous(const TensorInfo& info);
/// The strides with which they would; -1 where one overflows 63 bits.
CKPT_API std::vector<std::int64_t> contiguous_stride(const std::vector<std::int64_t>& shape);

/// The same elements counted as the storage counts them: those of a packed type (quint4x2) by the byte, as many bytes
/// as torch gives them, which rounds each row of the last dimension up. (It fills them without regard to rows: element
/// k lies in byte k / dtype_per_byte(), and those that are left over are the last.) Every other tensor is as it was.
CKPT_API TensorInfo packed(const TensorInfo& info);

/// A decoded view of the object in the graph that would build a tensor. The graph stays what is written; a Tensor only
/// says what it means.
struct Tensor {
  ValueId value = no_value;  ///< the object
  TensorInfo info;
  /// Index into Checkpoint::storages. None for meta tensors, tensors of parts, and a device's (XLA)
  /// that is held as a numpy array.
  std::optional<std::uint32_t> storage;
  /// Where in the storage, in its elements, the part begins that info.offset counts from: 0 but for a legacy storage
  /// view.
  std::uint64_t view_offset = 0;
  /// The device where the file names it otherwise than by a storage's tag ("meta"); else empty.
  std::string device;
  /// Where the graph holds that device: items()[index] of `holder`. no_value: nowhere, as for meta tensors.
  ValueId device_holder = no_value;
  std::uint32_t device_index = 0;
  /// An array of numpy's rather than a tensor of torch's: pickles of torch's keep it as the array that it is.
  bool array = false;
  /// What a sparse or nested tensor is made of: "indices" and "values", "crow_indices" …
  struct Part;
  std::vector<Part> parts;
};

struct Tensor::Part {
  std::string name;
  Tensor tensor;
};

}  // namespace ckpt
