#include <ATen/ops/_empty_affine_quantized.h>
#include <ATen/ops/_empty_per_channel_affine_quantized.h>
#include <ATen/ops/_validate_sparse_compressed_tensor_args.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sparse_compressed_tensor.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/tensor.h>

#include <set>
#include <unordered_map>

#include "bridge/dtypes.h"
#include "bridge/load_state.h"
#include "bridge/loaded_storages.h"
#include "bridge/state_entries.h"
#include "bridge/torch_errors.h"
#include "ckpt/error.h"
#include "ckpt/torch.h"

namespace ckpt::eval {
namespace {

/// Dense tensors that a tensor is made of; itself, where it has no parts.
template <class Use>
void each_dense(const Tensor& tensor, const Quantizer* quantizer, Use&& use) {
  if (tensor.parts.empty()) use(tensor);
  for (const Tensor::Part& part : tensor.parts) use(part.tensor);
  if (quantizer == nullptr) return;
  for (const ChannelNumbers* numbers : {&quantizer->scales, &quantizer->zero_points})
    if (const auto* const held = std::get_if<const Tensor*>(numbers); held != nullptr && *held != nullptr) use(**held);
}

class Builder {
 public:
  Builder(const LoadedStorages& storages, const ValueGraph& values) : storages_(storages), values_(values) {}

  at::Tensor build(const Tensor& tensor, const Quantizer* quantizer) const {
    switch (tensor.info.layout) {
      case Layout::strided:
        return quantizer == nullptr ? dense(tensor) : quantised(tensor, *quantizer);
      case Layout::sparse_coo:
        return coordinates(tensor);
      case Layout::sparse_csr:
        return compressed(tensor, at::kSparseCsr);
      case Layout::sparse_csc:
        return compressed(tensor, at::kSparseCsc);
      case Layout::sparse_bsr:
        return compressed(tensor, at::kSparseBsr);
      case Layout::sparse_bsc:
        return compressed(tensor, at::kSparseBsc);
      case Layout::nested:
        break;
    }
    throw Error(ErrorCode::unsupported, "its layout is " + std::string(layout_name(tensor.info.layout)))
        .expected("a strided or sparse tensor");
  }

 private:
  static at::TensorOptions options(const Tensor& tensor) {
    const auto type = scalar_type(tensor.info.dtype);
    if (!type) throw Error(ErrorCode::unsupported, "libtorch has no " + std::string(dtype_name(tensor.info.dtype)));
    return at::TensorOptions().dtype(*type);
  }

  /// Places an empty tensor where the file says; the reader has checked that all of it lies in the storage.
  at::Tensor place(const at::Tensor& empty, const Tensor& tensor) const {
    const auto offset = static_cast<std::int64_t>(tensor.view_offset) + tensor.info.offset;
    at::Tensor placed = empty.set_(storages_.at(*tensor.storage), offset, tensor.info.shape, tensor.info.stride);
    if (tensor.info.conjugate) placed._set_conj(true);
    if (tensor.info.negative) placed._set_neg(true);
    return placed;
  }

  at::Tensor dense(const Tensor& tensor) const { return place(at::empty({0}, options(tensor)), tensor); }

  at::Tensor part(const Tensor& tensor, std::size_t index) const { return dense(tensor.parts.at(index).tensor); }

  // libtorch believes the indices of a sparse tensor unless it is told to look, and writes where they point.

  at::Tensor coordinates(const Tensor& tensor) const {
    const at::Tensor indices = part(tensor, 0), values = part(tensor, 1);
    at::_validate_sparse_coo_tensor_args(indices, values, tensor.info.shape);
    return at::sparse_coo_tensor(indices, values, tensor.info.shape);
  }

  at::Tensor compressed(const Tensor& tensor, at::Layout layout) const {
    const at::Tensor outer = part(tensor, 0), inner = part(tensor, 1), values = part(tensor, 2);
    at::_validate_sparse_compressed_tensor_args(outer, inner, values, tensor.info.shape, layout);
    return at::sparse_compressed_tensor(outer, inner, values, tensor.info.shape, options(tensor).layout(layout));
  }

  at::Tensor numbers(const ChannelNumbers& numbers, at::ScalarType type) const {
    if (const auto* const held = std::get_if<const Tensor*>(&numbers)) return dense(**held);
    return at::tensor(listed_numbers(values_, std::get<ValueId>(numbers)), at::kDouble).to(type);
  }

  at::Tensor quantised(const Tensor& tensor, const Quantizer& quantizer) const {
    if (!quantizer.per_channel)
      return place(at::_empty_affine_quantized({0}, options(tensor), quantizer.scale, quantizer.zero_point), tensor);
    // libtorch compares the number of scales with the shape, so that it cannot be empty at first.
    return place(at::_empty_per_channel_affine_quantized(tensor.info.shape, numbers(quantizer.scales, at::kDouble),
                                                         numbers(quantizer.zero_points, at::kLong), quantizer.axis,
                                                         options(tensor)),
                 tensor);
  }

  const LoadedStorages& storages_;
  const ValueGraph& values_;
};

/// Throws where the file holds no values of it.
void check_values(const Checkpoint& checkpoint, const Tensor& tensor) {
  if (tensor.storage && checkpoint.storages.at(*tensor.storage).bytes) return;
  if (device_of(checkpoint, tensor) == "meta")
    throw Error(ErrorCode::unsupported, "it is on the meta device: the file holds no values of it");
  throw Error(ErrorCode::unsupported, "it has no storage (it is held as a numpy array, or by a subclass of its own)")
      .expected("a tensor in a storage");
}

template <class Work>
auto of_tensor(std::string_view name, Work&& work) {
  try {
    return with_torch("libtorch", std::forward<Work>(work));
  } catch (Error& error) {
    error.within("tensor '" + std::string(name) + "'");
    throw;
  }
}

}  // namespace

LoadedState load_state(const Checkpoint& checkpoint, std::string_view root,
                       const std::function<bool(std::string_view name)>& wanted) {
  try {
    const TensorsByValue tensors = tensors_by_value(checkpoint);
    std::vector<StateEntry> entries = state_entries(checkpoint, tensors, root);
    if (wanted) std::erase_if(entries, [&](const StateEntry& entry) { return !wanted(entry.name); });
    std::unordered_map<const Tensor*, Quantizer> quantizers;
    const auto quantizer_for = [&](const Tensor& tensor) {
      const auto found = quantizers.find(&tensor);
      return found == quantizers.end() ? nullptr : &found->second;
    };
    std::set<std::uint32_t> storages;
    for (const auto& [name, tensor] : entries)
      of_tensor(name, [&, held = tensor] {
        if (is_quantised(held->info.dtype)) quantizers.emplace(held, quantizer_of(checkpoint.values, tensors, *held));
        each_dense(*held, quantizer_for(*held), [&](const Tensor& dense) {
          check_values(checkpoint, dense);
          storages.insert(*dense.storage);
        });
      });
    LoadedState state{{}, with_torch("reading the weights", [&] { return LoadedStorages(checkpoint, storages); })};
    const Builder builder(state.storages, checkpoint.values);
    state.tensors.reserve(entries.size());
    for (const auto& [name, tensor] : entries)
      of_tensor(name, [&, &key = name, held = tensor] {
        state.tensors.push_back({std::string(key), builder.build(*held, quantizer_for(*held))});
      });
    return state;
  } catch (Error& error) {
    error.in(checkpoint.file);
    throw;
  }
}

std::vector<StateTensor> to_torch(const Checkpoint& checkpoint, std::string_view root,
                                  const std::function<bool(std::string_view name)>& wanted) {
  return load_state(checkpoint, root, wanted).tensors;
}

}  // namespace ckpt::eval
