#include "ops/copyable.h"

#include "ops/dense_tensor.h"

namespace ckpt {
namespace {

bool is_compressed(Layout layout) {
  return layout != Layout::strided && layout != Layout::sparse_coo && layout != Layout::nested;
}

bool is_per_channel(const TensorOf& of) {
  return quantizer_of(of.checkpoint.values, of.tensors, of.tensor).per_channel;
}

/// Two indices of it lead to one element.
bool overlaps_itself(const TensorInfo& info) {
  for (std::size_t i = 0; i < info.stride.size(); ++i)
    if (info.stride[i] == 0 && info.shape[i] > 1) return true;
  return false;
}

/// In the order of channels last, two or three dimensions of them.
bool is_channels_last(const TensorInfo& info) {
  const std::size_t dimensions = info.shape.size();
  if (dimensions != 4 && dimensions != 5) return false;
  std::int64_t expected = 1;
  const auto lies = [&](std::size_t i) {
    const bool fits = info.shape[i] == 1 || info.stride[i] == expected;
    expected *= info.shape[i];
    return fits;
  };
  bool all = lies(1);
  for (std::size_t i = dimensions - 1; i > 1; --i) all = lies(i) && all;
  return lies(0) && all;
}

}  // namespace

std::string_view why_not_copied(const TensorOf& from, const TensorOf& into) {
  const TensorInfo &source = from.tensor.info, &target = into.tensor.info;
  if (is_compressed(target.layout) && target.layout != source.layout)
    return "torch.copy_: copy of sparse compressed tensors having different layouts is not supported.";
  if (is_compressed(source.layout) && target.layout != source.layout)
    return "copy_sparse_compressed_ expected sparse compressed tensor layout but got";
  if (is_meta(into.checkpoint, into.tensor)) return {};
  if (is_meta(from.checkpoint, from.tensor)) return "Cannot copy out of meta tensor; no data!";
  if ((source.layout == Layout::sparse_coo) != (target.layout == Layout::sparse_coo))
    return "copy_() between dense and sparse Tensors is not implemented!";
  if (is_quantised(source.dtype) && !is_quantised(target.dtype))
    return "Copying from quantized Tensor to non-quantized Tensor is not allowed";
  if (is_quantised(source.dtype)) {
    if (is_per_channel(from) != is_per_channel(into)) return "Quantized Copy only works with same qscheme";
    if (source.dtype != target.dtype)
      return "Expected self.scalar_type() == src.scalar_type() to be true, but got false.";
  } else if (is_quantised(target.dtype)) {
    if (source.dtype != DType::float32) return "Quantized copy only works with kFloat as source Tensor";
    const bool lie_alike =
        (is_contiguous(source) && is_contiguous(target)) || (is_channels_last(source) && is_channels_last(target));
    if (!lie_alike) return "Quantized copy only works with contiguous and NHWC Tensors";
  }
  if (overlaps_itself(target))
    return "unsupported operation: more than one element of the written-to tensor refers to a single memory location.";
  return {};
}

}  // namespace ckpt
