#include "ckpt/tensor.h"

#include <algorithm>

namespace ckpt {

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::strided:
      return "strided";
    case Layout::sparse_coo:
      return "sparse_coo";
    case Layout::sparse_csr:
      return "sparse_csr";
    case Layout::sparse_csc:
      return "sparse_csc";
    case Layout::sparse_bsr:
      return "sparse_bsr";
    case Layout::sparse_bsc:
      return "sparse_bsc";
    case Layout::nested:
      return "nested";
  }
  return "unknown";
}

std::uint64_t element_count(const TensorInfo& info) {
  std::uint64_t count = 1;
  for (std::int64_t size : info.shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

bool is_contiguous(const TensorInfo& info) {
  if (info.layout != Layout::strided || info.stride.size() != info.shape.size()) return false;
  if (element_count(info) == 0) return true;
  // A dimension of one element may have any stride: it is never stepped along.
  std::int64_t expected = 1;
  for (std::size_t i = info.shape.size(); i-- > 0;) {
    if (info.shape[i] == 1) continue;
    if (info.stride[i] != expected) return false;
    expected *= info.shape[i];
  }
  return true;
}

std::vector<std::int64_t> contiguous_stride(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> stride(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;)
    if (stride[i] < 0 || __builtin_mul_overflow(stride[i], std::max<std::int64_t>(shape[i], 1), &stride[i - 1]))
      stride[i - 1] = -1;
  return stride;
}

TensorInfo packed(const TensorInfo& info) {
  const auto per_byte = static_cast<std::int64_t>(dtype_per_byte(info.dtype));
  if (per_byte == 1 || info.shape.empty() || !is_contiguous(info)) return info;
  TensorInfo bytes = info;
  const std::int64_t row = info.shape.back();
  bytes.shape.back() = row / per_byte + (row % per_byte != 0 ? 1 : 0);
  bytes.offset /= per_byte;
  std::int64_t step = 1;
  for (std::size_t i = bytes.shape.size(); i-- > 0;) {
    bytes.stride[i] = step;
    step *= bytes.shape[i];
  }
  return bytes;
}

}  // namespace ckpt
