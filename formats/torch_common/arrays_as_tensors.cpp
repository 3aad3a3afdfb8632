#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "ckpt/assemble.h"
#include "io/swapped_source.h"
#include "ops/prune.h"
#include "pickle/global_uses.h"
#include "pickle/policy.h"
#include "torch_common/replace_values.h"
#include "torch_common/storage_types.h"
#include "torch_common/tensor_calls.h"

namespace ckpt {
namespace {

/// The storage as torch has it: untyped where no class of torch's holds such elements.
void make_torch_storage(Storage& storage) {
  if (torch::storage_class(storage.dtype)) return;
  // It would not say in which units its bytes change places.
  if (storage.byte_order == ByteOrder::big) storage.bytes = swapped(storage.bytes, dtype_swap_size(storage.dtype));
  storage.byte_order = ByteOrder::little;
  storage.dtype = DType::uint8;
  storage.typed = false;
}

/// Names that the graph has now and the list of globals has not yet.
void add_globals(Checkpoint& checkpoint, ValueId from) {
  pickle::GlobalUses globals(checkpoint.globals);
  const ValueGraph& values = checkpoint.values;
  for (ValueId id = from; id < values.size(); ++id) {
    if (values.kind(id) != ValueKind::global) continue;
    std::string module(values.module(id)), name(values.name(id));
    const Verdict verdict = judge_global(module, name);
    globals.add({std::move(module), std::move(name), verdict, 0});
  }
}

}  // namespace

Checkpoint arrays_as_tensors(Checkpoint checkpoint) {
  // Not those within a call that makes a tensor out of an array.
  std::set<const Tensor*> named;
  for (const NamedTensor& each : tensor_names(checkpoint)) named.insert(each.tensor);
  ValueGraph& values = checkpoint.values;
  const auto first_new = static_cast<ValueId>(values.size());
  torch::TensorCalls calls(values);
  std::unordered_map<ValueId, ValueId> tensors;
  for (Tensor& tensor : checkpoint.tensors) {
    if (!tensor.array || !named.contains(&tensor)) continue;
    const std::uint32_t place = *tensor.storage;
    Storage& storage = checkpoint.storages[place];
    const ValueId persistent =
        values.make_persistent(calls.storage_id(tensor.info.dtype, storage.key, storage.location, storage.nbytes));
    make_torch_storage(storage);
    checkpoint.storage_uses.push_back({persistent, {place, {}, 0, 0}});
    const auto [function, arguments] = calls.rebuild(persistent, tensor.info);
    const ValueId call[] = {function, arguments};
    const ValueId made = calls.kept(values.make_object(CallKind::reduce, call));
    tensors[tensor.value] = made;
    tensor.value = made;
    tensor.array = false;
  }
  if (tensors.empty()) return checkpoint;
  torch::replace_values(checkpoint, tensors);
  std::sort(checkpoint.tensors.begin(), checkpoint.tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.value < b.value; });
  add_globals(checkpoint, first_new);
  return prune(std::move(checkpoint));
}

}  // namespace ckpt
