#include <set>
#include <tuple>
#include <unordered_set>

#include "ckpt/ops.h"
#include "ckpt/quantizer.h"

namespace ckpt {
namespace {

/// Where a tensor's elements lie, and as what: a Parameter's are those of the tensor in it.
auto place_of(const Tensor& tensor) {
  const TensorInfo& info = tensor.info;
  return std::tuple(tensor.storage, tensor.view_offset, info.offset, info.dtype, info.shape, info.stride);
}

using Place = decltype(place_of({}));

}  // namespace

std::vector<NamedTensor> unnamed_tensors(const Checkpoint& checkpoint) {
  std::vector<const Tensor*> unnamed;
  std::set<Place> places;  // of what is known
  std::unordered_set<const Tensor*> named;
  for (const NamedTensor& each : tensor_names(checkpoint)) named.insert(each.tensor);
  if (named.size() == checkpoint.tensors.size()) return {};
  const auto numbers = given_to_quantised(checkpoint);
  for (const Tensor& tensor : checkpoint.tensors) {
    for (const Tensor::Part& part : tensor.parts) places.insert(place_of(part.tensor));
    if (named.contains(&tensor) || numbers.contains(tensor.value))
      places.insert(place_of(tensor));
    else
      unnamed.push_back(&tensor);
  }
  std::vector<NamedTensor> found;
  for (const Tensor* const tensor : unnamed) {
    const Tensor& dense = tensor->parts.empty() ? *tensor : tensor->parts.back().tensor;
    if (!dense.storage || *dense.storage >= checkpoint.storages.size()) continue;
    if (!tensor->parts.empty() || places.insert(place_of(dense)).second)
      found.push_back({"(of storage " + checkpoint.storages[*dense.storage].key + ")", tensor});
  }
  return found;
}

}  // namespace ckpt
