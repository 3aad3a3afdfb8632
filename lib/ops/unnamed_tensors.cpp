#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_set>

#include "ckpt/ops.h"

namespace ckpt {
namespace {

/// Where a tensor's elements lie, and as what: a Parameter's are those of the tensor in it.
auto place_of(const Tensor& tensor) {
  const TensorInfo& info = tensor.info;
  return std::tuple(*tensor.storage, tensor.view_offset, info.offset, info.dtype, info.shape, info.stride);
}

}  // namespace

std::vector<NamedTensor> unnamed_tensors(const Checkpoint& checkpoint) {
  std::unordered_set<const Tensor*> named;
  std::set<decltype(place_of({}))> places;
  const auto take = [&](const Tensor& tensor) {
    if (tensor.storage) places.insert(place_of(tensor));
    for (const Tensor::Part& part : tensor.parts)
      if (part.tensor.storage) places.insert(place_of(part.tensor));
  };
  for (const NamedTensor& each : tensor_names(checkpoint))
    if (named.insert(each.tensor).second) take(*each.tensor);
  std::vector<NamedTensor> found;
  if (named.size() == checkpoint.tensors.size()) return found;
  for (const Tensor& tensor : checkpoint.tensors)
    if (!named.contains(&tensor) && tensor.storage && !places.contains(place_of(tensor)))
      found.push_back({"(of storage " + checkpoint.storages[*tensor.storage].key + ")", &tensor});
  return found;
}

}  // namespace ckpt
