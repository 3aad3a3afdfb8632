#include "scan/sparse_indices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "ops/dense_tensor.h"
#include "ops/tensor_bytes.h"

namespace ckpt::scanning {
namespace {

using Sizes = std::vector<std::int64_t>;

/// One tensor's. Its shapes have no negative sizes, which the reader has checked.
class SparseTensor {
 public:
  SparseTensor(const Checkpoint& checkpoint, const Tensor& tensor)
      : checkpoint_(checkpoint), tensor_(tensor), shape_(tensor.info.shape) {}

  void check() const {
    if (tensor_.info.layout == Layout::sparse_coo) {
      check_coordinates();
    } else {
      check_compressed();
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    const std::vector<NamedTensor> all = tensor_names(checkpoint_);
    const auto named = std::ranges::find(all, &tensor_, &NamedTensor::tensor);
    const std::string name = named == all.end() || named->name.empty() ? "a tensor" : "tensor '" + named->name + "'";
    throw Error(ErrorCode::corrupt, name + ", " + std::string(layout_name(tensor_.info.layout)) + ", has " + found)
        .expected(expected);
  }

  [[nodiscard]] const Tensor& part(std::size_t index) const { return tensor_.parts[index].tensor; }
  [[nodiscard]] const Sizes& sizes(std::size_t index) const { return part(index).info.shape; }

  void expect_sizes(bool right) const {
    if (!right) refuse("indices and values of shapes that do not go together", "those of its own shape");
  }

  /// `dimension`: of coordinates.
  void expect_range(std::int64_t index, std::int64_t from, std::int64_t until, std::size_t part,
                    std::optional<std::int64_t> dimension = std::nullopt) const {
    if (index >= from && index < until) return;
    const std::string where = dimension ? " in dimension " + std::to_string(*dimension) : "";
    refuse(std::to_string(index) + " among its " + tensor_.parts[part].name + where,
           "from " + std::to_string(from) + " to below " + std::to_string(until));
  }

  template <class Visit>
  void for_each_index(std::size_t index, Visit visit) const {
    const auto dense = dense_tensor(checkpoint_, tensor_.parts[index].name, part(index));
    if (!dense) return;
    const DType dtype = dense->placed->dtype;
    const bool is_short = dtype == DType::int32 && tensor_.info.layout != Layout::sparse_coo;
    if (!is_short && dtype != DType::int64)
      refuse("indices of " + std::string(dtype_name(dtype)), "int64, or int32 of compressed ones");
    stream_tensor(checkpoint_.storages[*part(index).storage], *dense->placed, [&](std::span<const std::byte> bytes) {
      for (std::size_t at = 0; at < bytes.size(); at += dtype_size(dtype))
        visit(is_short ? load_le<std::int32_t>(&bytes[at]) : load_le<std::int64_t>(&bytes[at]));
    });
  }

  /// indices [d, n]: of each of the first d dimensions, one index a value; values [n, the other dimensions …]
  void check_coordinates() const {
    const Sizes &indices = sizes(0), &values = sizes(1);
    expect_sizes(indices.size() == 2 && !values.empty() && indices[1] == values[0]);
    expect_sizes(static_cast<std::uint64_t>(indices[0]) <= shape_.size() &&
                 std::equal(values.begin() + 1, values.end(), shape_.begin() + indices[0], shape_.end()));
    std::int64_t place = 0;
    for_each_index(0, [&](std::int64_t index) {
      const std::int64_t dimension = place++ / indices[1];
      expect_range(index, 0, shape_[static_cast<std::size_t>(dimension)], 0, dimension);
    });
  }

  /// Of each batch, crow_indices [rows + 1]: where the values of each row begin; col_indices [n]; values [n, block …,
  /// the other dimensions …]. Rows and columns are of blocks; of layouts by columns they are each other.
  void check_compressed() const {
    const Layout layout = tensor_.info.layout;
    const bool by_rows = layout == Layout::sparse_csr || layout == Layout::sparse_bsr;
    const std::size_t block_sizes = layout == Layout::sparse_bsr || layout == Layout::sparse_bsc ? 2 : 0;
    const Sizes &ends = sizes(0), &plain = sizes(1), &values = sizes(2);
    expect_sizes(!ends.empty() && plain.size() == ends.size() && shape_.size() > ends.size());
    const std::size_t batch = ends.size() - 1;
    expect_sizes(values.size() == shape_.size() - 1 + block_sizes && values[batch] == plain[batch]);
    for (const Sizes* part : {&ends, &plain, &values})
      expect_sizes(std::equal(shape_.begin(), shape_.begin() + static_cast<std::ptrdiff_t>(batch), part->begin()));
    expect_sizes(std::equal(shape_.begin() + static_cast<std::ptrdiff_t>(batch) + 2, shape_.end(),
                            values.begin() + static_cast<std::ptrdiff_t>(batch + 1 + block_sizes)));
    Sizes blocks(shape_.begin() + static_cast<std::ptrdiff_t>(batch),
                 shape_.begin() + static_cast<std::ptrdiff_t>(batch) + 2);
    for (std::size_t i = 0; i < block_sizes; ++i) {
      const std::int64_t size = values[batch + 1 + i];
      expect_sizes(size > 0 && blocks[i] % size == 0);
      blocks[i] /= size;
    }
    const auto [rows, columns] = by_rows ? std::pair(blocks[0], blocks[1]) : std::pair(blocks[1], blocks[0]);
    const std::int64_t count = plain[batch];
    expect_sizes(ends[batch] - 1 == rows);
    std::int64_t place = 0, before = 0;
    for_each_index(0, [&, rows = rows, columns = columns](std::int64_t end) {
      const std::int64_t row = place++ % (rows + 1);
      const std::int64_t from = row == 0 ? 0 : before, most = row == 0 ? 0 : std::min(count - from, columns) + from;
      expect_range(end, row == rows ? count : from, most + 1, 0);
      before = end;
    });
    for_each_index(1, [&, columns = columns](std::int64_t index) { expect_range(index, 0, columns, 1); });
  }

  const Checkpoint& checkpoint_;
  const Tensor& tensor_;
  const Sizes& shape_;
};

/// Equal ones have equal indices.
std::vector<std::int64_t> key_of(const Tensor& tensor) {
  std::vector<std::int64_t> key{static_cast<std::int64_t>(tensor.info.layout)};
  const auto add = [&](const Sizes& sizes) {
    key.push_back(static_cast<std::int64_t>(sizes.size()));
    key.insert(key.end(), sizes.begin(), sizes.end());
  };
  add(tensor.info.shape);
  for (const auto& [name, part] : tensor.parts) {
    const TensorInfo& info = part.info;
    add(info.shape);
    add(info.stride);
    add({part.storage ? std::int64_t{*part.storage} : -1, static_cast<std::int64_t>(part.view_offset), info.offset,
         static_cast<std::int64_t>(info.dtype)});
  }
  return key;
}

}  // namespace

/// Few bytes may be the indices of any number of tensors, in any number of files.
void SparseIndices::count(const Checkpoint& checkpoint, const Tensor& tensor, std::set<std::uint32_t>& storages) {
  constexpr std::uint64_t to_begin = 4 * limits::kib;  // takes as long as so many bytes
  for (std::size_t i = 0; i + 1 < tensor.parts.size(); ++i) {
    const Tensor& part = tensor.parts[i].tensor;
    if (is_meta(checkpoint, part)) continue;
    if (part.storage && storages.insert(*part.storage).second) held_ += checkpoint.storages.at(*part.storage).nbytes;
    read_ = checked_add(read_, logical_bytes(part.info)).value_or(UINT64_MAX - to_begin) + to_begin;
  }
  if (read_ > held_)
    throw Error(ErrorCode::limit_exceeded, "the indices of sparse tensors come to " + std::to_string(read_) + " bytes")
        .expected("at most " + std::to_string(held_));
}

void SparseIndices::check(const Checkpoint& checkpoint) {
  std::set<std::vector<std::int64_t>> known;
  std::set<std::uint32_t> storages;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.info.layout == Layout::strided || tensor.info.layout == Layout::nested) continue;
    if (!known.insert(key_of(tensor)).second) continue;
    count(checkpoint, tensor, storages);
    SparseTensor(checkpoint, tensor).check();
  }
}

}  // namespace ckpt::scanning
