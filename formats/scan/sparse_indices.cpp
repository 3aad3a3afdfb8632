#include "scan/sparse_indices.h"

#include <algorithm>
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

  /// None of what is on the meta device, which has none.
  void add_indices(std::vector<DenseTensor>& indices) const {
    for (std::size_t i = 0; i + 1 < tensor_.parts.size(); ++i)
      add_dense_tensors(checkpoint_, tensor_.parts[i].name, part(i), indices);
  }

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
    const std::string name = named == all.end() ? "a tensor without a name" : "tensor '" + named->name + "'";
    throw Error(ErrorCode::corrupt, name + ", " + std::string(layout_name(tensor_.info.layout)) + ", has " + found)
        .expected(expected)
        .in(checkpoint_.file);
  }

  [[nodiscard]] const Tensor& part(std::size_t index) const { return tensor_.parts[index].tensor; }
  [[nodiscard]] const Sizes& sizes(std::size_t index) const { return part(index).info.shape; }

  void expect_sizes(bool right) const {
    if (!right) refuse("indices and values of shapes that do not go together", "those of its own shape");
  }

  void expect_range(std::int64_t index, std::int64_t from, std::int64_t until, const std::string& what) const {
    if (index >= from && index < until) return;
    refuse(what + " of " + std::to_string(index),
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
      expect_range(index, 0, shape_[static_cast<std::size_t>(dimension)],
                   "an index in dimension " + std::to_string(dimension));
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
      expect_range(end, row == rows ? count : from, most + 1, tensor_.parts[0].name);
      before = end;
    });
    for_each_index(
        1, [&, columns = columns](std::int64_t index) { expect_range(index, 0, columns, tensor_.parts[1].name); });
  }

  const Checkpoint& checkpoint_;
  const Tensor& tensor_;
  const Sizes& shape_;
};

}  // namespace

void check_sparse_indices(const Checkpoint& checkpoint) {
  std::vector<SparseTensor> sparse;
  for (const Tensor& tensor : checkpoint.tensors)
    if (tensor.info.layout != Layout::strided && tensor.info.layout != Layout::nested)
      sparse.emplace_back(checkpoint, tensor);
  std::vector<DenseTensor> indices;
  for (const SparseTensor& tensor : sparse) tensor.add_indices(indices);
  check_views_together(checkpoint, indices);
  for (const SparseTensor& tensor : sparse) tensor.check();
}

}  // namespace ckpt::scanning
