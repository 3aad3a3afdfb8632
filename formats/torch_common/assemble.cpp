#include "ckpt/assemble.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/utf8.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "io/swapped_source.h"
#include "torch_common/storage_ids.h"
#include "torch_common/storage_types.h"
#include "torch_common/tensor_calls.h"
#include "torch_common/tensors.h"

namespace ckpt {
namespace {

Error bad_tensor(const TensorSource& tensor, std::string what) {
  return Error(ErrorCode::invalid_argument, std::move(what)).within("tensor '" + tensor.name + "'");
}

/// Strides that overflow belong to shapes that decode_tensors() refuses.
std::vector<std::int64_t> stride_of(const TensorSource& tensor) {
  if (!tensor.stride.empty()) return tensor.stride;
  std::vector<std::int64_t> stride(tensor.shape.size(), 1);
  for (std::size_t i = stride.size(); i-- > 1;)
    stride[i - 1] = checked_mul(stride[i], std::max<std::int64_t>(tensor.shape[i], 1)).value_or(-1);
  return stride;
}

/// Writes the calls that torch.save would have written, for decode_tensors() to read.
class Assembler {
 public:
  ValueId add(TensorSource tensor) {
    TensorInfo info;
    info.dtype = tensor.dtype;
    info.stride = stride_of(tensor);
    info.offset = tensor.offset;
    info.shape = tensor.shape;
    const auto [function, arguments] = calls_.rebuild(storage(tensor), info);
    const ValueId call[] = {function, arguments};
    return calls_.kept(values().make_object(CallKind::reduce, call));
  }

  ValueId key(const std::string& name) { return calls_.kept(values().make_str(name)); }

  ValueId dict(const std::vector<ValueId>& pairs) {
    return filled(calls_.kept(values().make_container(ValueKind::dict)), pairs);
  }
  ValueId ordered_dict(const std::vector<ValueId>& pairs) { return filled(calls_.ordered_dict(), pairs); }

  /// OrderedDict([("", {"version": 1}), …]), as an attribute.
  void set_metadata(ValueId state_dict, const std::vector<ModuleVersion>& versions) {
    std::vector<ValueId> modules;
    for (const auto& [module, version] : versions) {
      modules.push_back(key(module));
      modules.push_back(dict({calls_.text("version"), values().make_integer(version)}));
    }
    const ValueId state = dict({calls_.text("_metadata"), ordered_dict(modules)});
    values().add_effect(state_dict, EffectKind::build, std::span(&state, 1));
  }

  Checkpoint finish(ValueId root) {
    checkpoint_.root = root;
    checkpoint_.format = "torch";
    checkpoint_.pickled = false;
    torch::collect_storages(checkpoint_);
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      checkpoint_.storages[i].bytes = std::move(storages_[i].bytes);
      checkpoint_.storages[i].byte_order = storages_[i].byte_order;
    }
    torch::decode_tensors(checkpoint_);
    return std::move(checkpoint_);
  }

 private:
  struct Source {
    ByteSourcePtr bytes;
    ByteOrder byte_order = ByteOrder::little;
  };
  /// What is known of a source that tensors may share.
  struct Shared {
    ValueId id = no_value;
    DType dtype{};
  };

  ValueGraph& values() { return checkpoint_.values; }

  /// The persistent id of the tensor's storage.
  ValueId storage(const TensorSource& tensor) {
    const auto [found, fresh] = shared_.try_emplace(tensor.bytes.get(), Shared{no_value, tensor.dtype});
    if (found->second.dtype != tensor.dtype)
      throw bad_tensor(tensor, "it shares the bytes of a " + std::string(dtype_name(found->second.dtype)) + " tensor")
          .expected("one dtype a storage");
    if (!fresh) return found->second.id;
    const bool typed = torch::storage_class(tensor.dtype).has_value();
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

  ValueId filled(ValueId mapping, const std::vector<ValueId>& pairs) {
    if (!pairs.empty()) values().add_effect(mapping, EffectKind::set_items, pairs);
    return mapping;
  }

  Checkpoint checkpoint_;
  torch::TensorCalls calls_{checkpoint_.values};
  std::vector<Source> storages_;
  std::map<const ByteSource*, Shared> shared_;  ///< by the source that was given
};

/// Keys and tensors in turn.
std::vector<ValueId> add_all(Assembler& assembler, std::vector<TensorSource> tensors) {
  std::unordered_set<std::string_view, KeyedHash> names;
  for (const TensorSource& tensor : tensors) {
    if (!is_utf8(tensor.name)) throw bad_tensor(tensor, "its name is not UTF-8");
    if (!names.insert(tensor.name).second) throw bad_tensor(tensor, "its name comes twice");
  }
  names.clear();
  std::vector<ValueId> pairs;
  for (TensorSource& tensor : tensors) {
    pairs.push_back(assembler.key(tensor.name));
    pairs.push_back(assembler.add(std::move(tensor)));
  }
  return pairs;
}

}  // namespace

Checkpoint assemble(std::vector<TensorSource> tensors) {
  Assembler assembler;
  const auto pairs = add_all(assembler, std::move(tensors));
  return assembler.finish(assembler.dict(pairs));
}

Checkpoint assemble_state_dict(std::vector<TensorSource> tensors, const std::vector<ModuleVersion>& metadata) {
  Assembler assembler;
  const auto pairs = add_all(assembler, std::move(tensors));
  const ValueId state_dict = assembler.ordered_dict(pairs);
  if (!metadata.empty()) assembler.set_metadata(state_dict, metadata);
  return assembler.finish(state_dict);
}

Checkpoint assemble_one(TensorSource tensor) {
  Assembler assembler;
  return assembler.finish(assembler.add(std::move(tensor)));
}

}  // namespace ckpt
