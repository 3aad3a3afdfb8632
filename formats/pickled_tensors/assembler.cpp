#include "pickled_tensors/assembler.h"

#include <algorithm>
#include <charconv>

#include "ckpt/utf8.h"
#include "io/bytes.h"
#include "io/swapped_source.h"
#include "model/graph_copy.h"
#include "model/raise_protocol.h"
#include "model/storage_types.h"
#include "pickled_tensors/storage_ids.h"
#include "pickled_tensors/tensors.h"

namespace ckpt::torch {

Error bad_tensor(const TensorSource& tensor, std::string what) {
  return Error(ErrorCode::invalid_argument, std::move(what)).within("tensor '" + tensor.name + "'");
}

ValueId Assembler::add(TensorSource tensor) {
  const ValueId place = storage(tensor);
  TensorInfo info;
  info.dtype = tensor.dtype;
  info.stride = tensor.stride.empty() ? contiguous_stride(tensor.shape) : std::move(tensor.stride);
  info.offset = tensor.offset;
  info.shape = std::move(tensor.shape);
  info.conjugate = tensor.conjugate;
  info.negative = tensor.negative;
  const auto call = calls_.rebuild(place, info, storage_class(info.dtype).has_value());
  return kept(values().make_object(CallKind::reduce, call));
}

ValueId Assembler::adopt(const Checkpoint& part) {
  std::vector<ValueId> keys;
  for (const Storage& storage : part.storages) {
    keys.push_back(key(std::to_string(storages_.size())));
    storages_.push_back({storage.bytes, storage.byte_order});
  }
  raise_protocol(values(), checkpoint_.protocol, part.protocol);
  const auto first = static_cast<ValueId>(values().size());
  GraphCopy copy(part.values);
  const ValueId root = copy.below(part.root, values(), latest_, part.discarded);
  latest_ = copy.latest();
  checkpoint_.protocol = std::max(checkpoint_.protocol, part.protocol);
  raise_protocol(values(), part.protocol, checkpoint_.protocol, first);
  for (const ValueId id : part.discarded) checkpoint_.discarded.push_back(copy.moved(id));
  for (const auto& [id, use] : part.storage_uses) {
    const ValueId moved = copy.moved(id);
    if (moved == no_value) continue;
    // The tuple may be held by something else, which is to keep it.
    const auto old = values().items(values().items(moved)[0]);
    std::vector<ValueId> items(old.begin(), old.end());
    items[2] = keys[use.storage];
    values().set_item(moved, 0, kept(values().make_tuple(items)));
  }
  return root;
}

ValueId Assembler::none() {
  if (none_ == no_value) none_ = values().make_none();
  return none_;
}

ValueId Assembler::dict(std::span<const ValueId> pairs) {
  return filled(kept(values().make_container(ValueKind::dict)), pairs);
}

ValueId Assembler::list(std::span<const ValueId> items) {
  const ValueId list = kept(values().make_container(ValueKind::list));
  if (!items.empty()) values().add_effect(list, EffectKind::append, items);
  return list;
}

void Assembler::set_metadata(ValueId state_dict, const std::vector<ModuleVersion>& versions) {
  std::vector<ValueId> modules;
  for (const auto& [module, version] : versions) {
    modules.push_back(key(module));
    const ValueId pair[] = {calls_.text("version"), values().make_integer(version)};
    modules.push_back(dict(pair));
  }
  const ValueId pair[] = {calls_.text("_metadata"), ordered_dict(modules)};
  const ValueId state = dict(pair);
  values().add_effect(state_dict, EffectKind::build, std::span(&state, 1));
}

Checkpoint Assembler::finish(ValueId root) {
  checkpoint_.root = root;
  checkpoint_.format = "torch";
  checkpoint_.pickled = false;
  shared_ = {};
  collect_storages(checkpoint_);
  for (Storage& storage : checkpoint_.storages) {
    std::size_t index = 0;
    std::from_chars(storage.key.data(), storage.key.data() + storage.key.size(), index);
    storage.bytes = std::move(storages_[index].bytes);
    storage.byte_order = storages_[index].byte_order;
  }
  storages_ = std::vector<Source>();
  decode_tensors(checkpoint_);
  return std::move(checkpoint_);
}

ValueId Assembler::storage(const TensorSource& tensor) {
  refuse_at_once(tensor);
  const auto [found, fresh] =
      shared_.try_emplace(tensor.bytes.get(), Shared{no_value, tensor.dtype, tensor.byte_order, tensor.location});
  refuse_to_differ(tensor, found->second);
  if (!fresh) return found->second.id;
  const bool typed = storage_class(tensor.dtype).has_value();
  Source source{tensor.bytes, tensor.byte_order};
  if (!typed && source.byte_order == ByteOrder::big)
    // An untyped storage does not say in which units its bytes change places.
    source = {swapped(std::move(source.bytes), dtype_swap_size(tensor.dtype)), ByteOrder::little};
  const std::uint64_t nbytes = tensor.bytes->size();
  if (nbytes % (typed ? dtype_size(tensor.dtype) : 1) != 0)
    throw bad_tensor(tensor, std::to_string(nbytes) + " bytes of " + std::string(dtype_name(tensor.dtype)))
        .expected("whole elements");
  const ValueId id = calls_.storage_id(tensor.dtype, std::to_string(storages_.size()), tensor.location, nbytes);
  storages_.push_back(std::move(source));
  return found->second.id = values().make_persistent(id);
}

void Assembler::refuse_at_once(const TensorSource& tensor) {
  if (tensor.bytes == nullptr) throw bad_tensor(tensor, "it has no bytes").expected("those of its storage");
  if (!is_utf8(tensor.location, Surrogates::allowed)) throw bad_tensor(tensor, "its location is not UTF-8");
  if (tensor.conjugate && !is_complex(tensor.dtype))
    throw bad_tensor(tensor, "it is conjugate, and " + std::string(dtype_name(tensor.dtype)))
        .expected("complex numbers");
  if (tensor.negative && tensor.dtype == DType::boolean)
    throw bad_tensor(tensor, "it is negative, and bool").expected("numbers");
  if (is_quantised(tensor.dtype))
    throw bad_tensor(tensor, "it is quantised (" + std::string(dtype_name(tensor.dtype)) + "), and there is no scale")
        .expected("a dtype that needs none");
}

void Assembler::refuse_to_differ(const TensorSource& tensor, const Shared& storage) {
  const auto refuse = [&](const std::string& has, const std::string& expected) {
    throw bad_tensor(tensor, "it shares the bytes of a tensor " + has).expected("one " + expected + " a storage");
  };
  if (storage.dtype != tensor.dtype) refuse("of " + std::string(dtype_name(storage.dtype)), "dtype");
  if (storage.byte_order != tensor.byte_order) refuse("in the other byte order", "byte order");
  if (storage.location != tensor.location) refuse("on " + storage.location, "location");
}

ValueId Assembler::filled(ValueId mapping, std::span<const ValueId> pairs) {
  if (!pairs.empty()) values().add_effect(mapping, EffectKind::set_items, pairs);
  return mapping;
}

}  // namespace ckpt::torch
