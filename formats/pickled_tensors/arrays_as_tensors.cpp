#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "ckpt/assemble.h"
#include "io/swapped_source.h"
#include "model/storage_types.h"
#include "model/tensor_calls.h"
#include "ops/prune.h"
#include "pickled_tensors/replace_values.h"

namespace ckpt {
namespace {

/// The storage as torch has it: untyped where no class of torch's holds such elements.
void make_torch_storage(Storage& storage) {
  if (storage_class(storage.dtype)) return;
  // It would not say in which units its bytes change places.
  if (storage.byte_order == ByteOrder::big) storage.bytes = swapped(storage.bytes, dtype_swap_size(storage.dtype));
  storage.byte_order = ByteOrder::little;
  storage.dtype = DType::uint8;
  storage.typed = false;
}

}  // namespace

Checkpoint arrays_as_tensors(Checkpoint checkpoint) {
  // Not those within a call that makes a tensor out of an array.
  std::set<const Tensor*> named;
  for (const NamedTensor& each : tensor_names(checkpoint)) named.insert(each.tensor);
  ValueGraph& values = checkpoint.values;
  TensorCalls calls(values);
  std::unordered_map<ValueId, ValueId> tensors;
  for (Tensor& tensor : checkpoint.tensors) {
    if (!tensor.array || !named.contains(&tensor)) continue;
    const std::uint32_t place = *tensor.storage;
    Storage& storage = checkpoint.storages[place];
    const ValueId persistent =
        values.make_persistent(calls.storage_id(tensor.info.dtype, storage.key, storage.location, storage.nbytes));
    make_torch_storage(storage);
    const auto call = calls.rebuild(persistent, tensor.info, storage.typed);
    checkpoint.storage_uses.push_back({persistent, {place, nullptr}});
    const ValueId made = calls.kept(values.make_object(CallKind::reduce, call));
    tensors[tensor.value] = made;
    tensor.value = made;
    tensor.array = false;
  }
  if (tensors.empty()) return checkpoint;
  torch::replace_values(checkpoint, tensors);
  std::sort(checkpoint.tensors.begin(), checkpoint.tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.value < b.value; });
  calls.list_globals(checkpoint.globals);
  return prune(std::move(checkpoint));
}

}  // namespace ckpt
