#include "ops/plain_tensors.h"

#include "ckpt/dtype.h"
#include "io/swapped_source.h"
#include "model/calls.h"
#include "model/storage_types.h"
#include "ops/tensor_place.h"

namespace ckpt {

PlainTensors::PlainTensors(Checkpoint& checkpoint)
    : checkpoint_(checkpoint), values_(checkpoint.values), calls_(values_), used_(values_.size()) {
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) tensors_.emplace(checkpoint.tensors[i].value, i);
}

/// A Parameter is a call around a tensor's, which may be around another.
ValueId PlainTensors::inner_call(ValueId id) {
  std::vector<ValueId> passed;
  ValueId inner = id;
  while (true) {
    const auto known = inner_.find(inner);
    if (known != inner_.end()) {
      inner = known->second;
      break;
    }
    const auto [module, name] = callable(values_, inner);
    const auto given = call_arguments(values_, inner);
    if (!is_tensor_wrapper(module, name) || given.empty() || !tensors_.contains(given[0])) break;
    passed.push_back(inner);
    inner = given[0];
  }
  for (const ValueId wrapper : passed) inner_[wrapper] = inner;
  return inner;
}

/// Whether the call is what torch.save writes of a detached tensor.
bool PlainTensors::is_plain(ValueId call) const {
  const auto [module, name] = callable(values_, call);
  if (module != "torch._utils" || values_.call(call) != CallKind::reduce) return false;
  if (name != "_rebuild_tensor_v2" && name != "_rebuild_tensor_v3") return false;
  const auto given = call_arguments(values_, call);
  return given.size() > 4 && values_.kind(given[4]) == ValueKind::boolean && !values_.boolean(given[4]);
}

/// A tensor of torch's own class that has attributes, as a Buffer has, which detaching leaves behind:
/// _rebuild_from_type_v2(function, type, arguments, attributes).
bool PlainTensors::is_torch_tensor(ValueId call) const {
  const auto given = call_arguments(values_, call);
  return given.size() > 1 && values_.kind(given[1]) == ValueKind::global && values_.name(given[1]) == "Tensor" &&
         (values_.module(given[1]) == "torch" || values_.module(given[1]) == "torch._tensor");
}

/// Of a script, what says that numbers are conjugate or negative stands in a call that a Python pickle has not.
void PlainTensors::untag(ValueId call) {
  const auto given = call_arguments(values_, call);
  if (callable(values_, call).second != "_rebuild_tensor_v2" || given.size() <= 6) return;
  const ValueId plain = without_type_tag(values_, given[6]);
  if (plain != given[6]) values_.set_item(values_.items(call)[1], 6, plain);
}

ValueId PlainTensors::detached(ValueId id) {
  const auto found = tensors_.find(id);
  if (found == tensors_.end()) return no_value;
  const Tensor& tensor = checkpoint_.tensors[found->second];
  const ValueId call = inner_call(id);
  untag(call);
  const bool first = !used_[call];
  used_[call] = true;
  if (tensor.storage && callable(values_, call).second == "_rebuild_tensor_v2" && !storage_class(tensor.info.dtype))
    return rebuilt(tensor, untyped(tensor));
  if (first && is_plain(call)) return call;
  const TensorInfo& info = tensor.info;
  const bool strided = info.layout == Layout::strided && tensor.storage && tensor.device_holder == no_value;
  if (!strided || is_quantised(info.dtype) || info.conjugate || info.negative) return call;
  const TensorPlace place = tensor_place(checkpoint_, call);
  const bool stays = place.storage == no_value || (place.form == TensorPlace::Form::subclass && !is_torch_tensor(call));
  return stays ? call : rebuilt(tensor, place.storage);
}

/// A storage of a class that Python has not becomes one of bytes.
ValueId PlainTensors::untyped(const Tensor& tensor) {
  Storage& storage = checkpoint_.storages[*tensor.storage];
  if (storage.typed && storage.byte_order == ByteOrder::big) {
    storage.bytes = swapped(storage.bytes, dtype_swap_size(storage.dtype));
    storage.byte_order = ByteOrder::little;
  }
  storage.dtype = DType::uint8;
  storage.typed = false;
  const ValueId id =
      values_.make_persistent(calls_.storage_id(tensor.info.dtype, storage.key, storage.location, storage.nbytes));
  checkpoint_.storage_uses.push_back({id, {*tensor.storage, nullptr}});
  return id;
}

ValueId PlainTensors::rebuilt(const Tensor& tensor, ValueId storage) {
  const bool typed = is_typed_as(checkpoint_.storages[*tensor.storage], tensor.info.dtype);
  const auto call = calls_.rebuild(storage, tensor.info, typed);
  Tensor copy = tensor;
  copy.value = calls_.kept(values_.make_object(CallKind::reduce, call));
  made_.push_back(std::move(copy));
  return made_.back().value;
}

void PlainTensors::finish() {
  for (Tensor& tensor : made_) checkpoint_.tensors.push_back(std::move(tensor));
  made_.clear();
  calls_.list_globals(checkpoint_.globals);
}

}  // namespace ckpt
