#include "ops/copyable.h"

#include <cstdint>
#include <vector>

#include "model/calls.h"
#include "ops/dense_tensor.h"
#include "ops/tensor_place.h"

namespace ckpt {
namespace {

bool is_compressed(Layout layout) {
  return layout != Layout::strided && layout != Layout::sparse_coo && layout != Layout::nested;
}

bool is_per_channel(const TensorOf& of) {
  return quantizer_of(of.checkpoint.values, of.tensors, of.tensor).per_channel;
}

/// The shape of a part of it; empty where it has none of that name.
std::vector<std::int64_t> part_shape(const Tensor& tensor, std::string_view part) {
  for (const Tensor::Part& each : tensor.parts)
    if (each.name == part) return each.tensor.info.shape;
  return {};
}

/// Of two of one layout that is compressed.
std::string_view why_not_copied_compressed(const Tensor& from, const Tensor& into) {
  std::vector<std::int64_t> source = part_shape(from, "values"), target = part_shape(into, "values");
  if (source.empty() || target.empty()) return {};
  if (source.front() != target.front())
    return "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported.";
  if (source != target)
    return "torch.copy_: copy of sparse compressed tensors having different block sizes is not supported.";
  return {};
}

/// Of two in coordinates: what has any keeps how many of its dimensions are sparse.
bool changes_sparse_dimensions(const Tensor& from, const Tensor& into) {
  const auto source = part_shape(from, "indices"), target = part_shape(into, "indices");
  return source.size() == 2 && target.size() == 2 && target[1] > 0 && source[0] != target[0];
}

bool is_bits(DType dtype) { return dtype_name(dtype).starts_with("bits"); }

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

/// A DTensor, a Parameter of one: its elements stand in the tensor that its state holds.
bool is_distributed(const TensorOf& of) {
  if (of.tensor.array || !lacks_elements(of.checkpoint, of.tensor)) return false;
  const ValueGraph& values = of.checkpoint.values;
  ValueId made = of.tensor.value;
  const auto called = [&] { return callable(values, made); };
  if (const auto [module, name] = called(); is_tensor_wrapper(module, name)) {
    const auto given = call_arguments(values, made);
    if (given.empty()) return false;
    made = given[0];
  }
  const auto [module, name] = called();
  const auto given = call_arguments(values, made);
  return is_rebuild_from_type(module, name) && given.size() > 1 && values.kind(given[1]) == ValueKind::global &&
         values.name(given[1]) == "DTensor";
}

}  // namespace

std::string_view why_not_copied(const TensorOf& from, const TensorOf& into) {
  const TensorInfo &source = from.tensor.info, &target = into.tensor.info;
  if (is_distributed(from) != is_distributed(into)) return "aten.copy_.default got mixed torch.Tensor and DTensor";
  if (is_compressed(target.layout) && target.layout != source.layout)
    return "torch.copy_: copy of sparse compressed tensors having different layouts is not supported.";
  if (is_compressed(source.layout) && target.layout != source.layout)
    return "copy_sparse_compressed_ expected sparse compressed tensor layout but got";
  if (source.layout == Layout::nested || target.layout == Layout::nested)
    return "Internal error: NestedTensorImpl doesn't support sizes.";
  if (is_compressed(target.layout)) return why_not_copied_compressed(from.tensor, into.tensor);
  if (is_meta(into.checkpoint, into.tensor)) return {};
  if (is_meta(from.checkpoint, from.tensor)) return "Cannot copy out of meta tensor; no data!";
  if ((source.layout == Layout::sparse_coo) != (target.layout == Layout::sparse_coo))
    return "copy_() between dense and sparse Tensors is not implemented!";
  if (source.layout == Layout::sparse_coo && changes_sparse_dimensions(from.tensor, into.tensor))
    return "changing the number of sparse dimensions";
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
  if (source.dtype != target.dtype) {
    if (is_bits(source.dtype) || is_bits(target.dtype)) return "\"copy_\" not implemented for 'Bits";
    if (source.dtype == DType::float4_e2m1fn_x2 || target.dtype == DType::float4_e2m1fn_x2)
      return "\"copy_kernel\" not implemented for 'Float4_e2m1fn_x2'";
  }
  if (overlaps_itself(target))
    return "unsupported operation: more than one element of the written-to tensor refers to a single memory location.";
  return {};
}

}  // namespace ckpt
