#include <algorithm>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/stream.h"
#include "io/swapped_source.h"
#include "ops/prune.h"
#include "pickle/emitter.h"
#include "pickle/name_risks.h"
#include "pickled_tensors/read_pickle.h"
#include "pickled_tensors/storage_ids.h"
#include "torch_legacy/torch_legacy.h"

namespace ckpt::torch {
namespace {

std::string emit_value(const ValueGraph& values, ValueId root, int protocol) {
  return pickle::emit(values, root, {.source_protocol = protocol, .protocol = std::nullopt, .discarded = {}});
}

/// The pickles before the object, as torch writes them on a little-endian machine.
std::string make_header(int protocol) {
  ValueGraph values;
  const auto str = [&](std::string_view text) {
    const ValueId id = values.make_str(text);
    values.set_memoized(id);
    return id;
  };
  const auto dict = [&](std::initializer_list<ValueId> pairs) {
    const ValueId id = values.make_container(ValueKind::dict);
    values.set_memoized(id);
    values.add_effect(id, EffectKind::set_items, pairs);
    return id;
  };
  const ValueId magic = values.make_big_integer(legacy_magic);
  const ValueId version = values.make_integer(legacy_version);
  const ValueId version_key = str("protocol_version"), endian_key = str("little_endian"), sizes_key = str("type_sizes");
  const ValueId sizes = dict(
      {str("short"), values.make_integer(2), str("int"), values.make_integer(4), str("long"), values.make_integer(4)});
  const ValueId system = dict({version_key, version, endian_key, values.make_boolean(true), sizes_key, sizes});
  return emit_value(values, magic, protocol) + emit_value(values, version, protocol) +
         emit_value(values, system, protocol);
}

std::string make_key_list(const std::vector<WrittenStorage>& storages, int protocol) {
  ValueGraph values;
  const ValueId list = values.make_container(ValueKind::list);
  values.set_memoized(list);
  std::vector<ValueId> keys;
  for (const WrittenStorage& storage : storages) {
    keys.push_back(values.make_str(storage.storage.key));
    values.set_memoized(keys.back());
  }
  if (!keys.empty()) values.add_effect(list, EffectKind::append, keys);
  return emit_value(values, list, protocol);
}

/// Legacy files know typed storages only; torch itself cannot load what it writes of others.
void refuse_untyped(const Checkpoint& checkpoint) {
  for (const auto& [id, use] : checkpoint.storage_uses) {
    if (decode_storage_id(checkpoint.values, checkpoint.values.items(id)[0])->type.typed) continue;
    const Storage& storage = checkpoint.storages[use.storage];
    std::string what = "an untyped storage, '" + storage.key + "'";
    for (const NamedTensor& named : tensor_names(checkpoint))
      if (named.tensor->storage == use.storage && named.tensor->info.dtype != storage.dtype) {
        what = "tensor '" + named.name + "' is " + std::string(dtype_name(named.tensor->info.dtype));
        break;
      }
    throw Error(ErrorCode::unsupported, what)
        .expected("a dtype that torch-legacy files can say")
        .in(checkpoint.file)
        .hint("--format torch can say it");
  }
}

/// torch reads the sizes of a nested tensor's parts before it has filled their storage.
void refuse_nested(const Checkpoint& checkpoint) {
  for (const NamedTensor& named : tensor_names(checkpoint))
    if (named.tensor->info.layout == Layout::nested)
      throw Error(ErrorCode::unsupported, "tensor '" + named.name + "' is nested")
          .expected("a layout that torch can load from torch-legacy files")
          .in(checkpoint.file)
          .hint("--format torch can say it");
}

/// Of classes whose __setstate__() makes something of tensors at once.
bool reads_at_once(std::string_view module, std::string_view name) {
  const bool is_packed = module.starts_with("torch.ao.nn.") || module.starts_with("torch.nn.quantized.") ||
                         module.starts_with("torch.nn.intrinsic.");
  return is_packed || ((module == "torch" || module == "torch._C") && (name == "Generator" || name == "ScriptObject"));
}

/// torch fills storages after it has made all objects: such ones would be made of zeros, without an error.
void refuse_early_readers(const Checkpoint& checkpoint) {
  const ValueGraph& values = checkpoint.values;
  std::vector<bool> reached(values.size());
  ValueId first = no_value;  // of the classes
  for (ValueId id = 0; id < values.size(); ++id) {
    if (values.kind(id) != ValueKind::object) continue;
    const ValueId type = pickle::class_meant(values, values.items(id)[0]);
    if (values.kind(type) != ValueKind::global || !reads_at_once(values.module(type), values.name(type))) continue;
    for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next) {
      if (values.effect(handle).kind != EffectKind::build) continue;
      const ValueId state = values.items(values.effect(handle))[0];
      if (values.kind(state) != ValueKind::tuple) continue;
      mark_reached(values, state, reached);
      if (first == no_value) first = type;
    }
  }
  if (std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                  [&](const Tensor& tensor) { return reached[tensor.value]; }))
    throw Error(ErrorCode::unsupported, "an object of " + std::string(values.module(first)) + "." +
                                            std::string(values.name(first)) +
                                            " is made of its tensors before torch has filled them")
        .expected("objects that torch can load from torch-legacy files")
        .in(checkpoint.file)
        .hint("--format torch can say it");
}

/// torch.load() finds what was in torch.tensor until PyTorch 1.8 under its new name, but not for legacy files.
void rename_old_modules(ValueGraph& values) {
  for (ValueId id = 0; id < values.size(); ++id)
    if (values.kind(id) == ValueKind::global && values.module(id) == "torch.tensor")
      values.rename_global(id, "torch._tensor", values.name(id));
}

}  // namespace

WriteReceipt write_legacy(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options) {
  refuse_dangerous(checkpoint, options.allow_unsafe);
  refuse_untyped(checkpoint);
  if (std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                  [](const Tensor& tensor) { return tensor.info.layout == Layout::nested; }))
    refuse_nested(checkpoint);
  if (checkpoint.format != legacy_format.name) {
    refuse_early_readers(checkpoint);
    rename_old_modules(checkpoint.values);
  }
  const auto storages = encode_storage_ids(checkpoint, IdForm::legacy);
  const int protocol = options.protocol.value_or(checkpoint.protocol);
  const auto* const own = dynamic_cast<const LegacyDetails*>(checkpoint.details.get());
  const bool keep_header = own != nullptr && !options.protocol;
  if (keep_header)
    sink.write(own->header);
  else
    sink.write(as_bytes(make_header(protocol)));
  sink.write(as_bytes(
      pickle::emit(checkpoint.values, checkpoint.root, {checkpoint.protocol, options.protocol, checkpoint.discarded})));
  checkpoint.values = {};
  sink.write(as_bytes(make_key_list(storages, protocol)));
  WriteReceipt receipt;
  for (const WrittenStorage& written : storages) {
    const Storage& storage = written.storage;
    std::vector<std::byte> count;
    append_le(count, storage.nbytes / dtype_size(storage.dtype));
    sink.write(count);
    const bool swap = storage.byte_order == ByteOrder::big;
    receipt[written.storage.key] =
        copy_all(swap ? *swapped(storage.bytes, dtype_swap_size(storage.dtype)) : *storage.bytes, sink);
  }
  return receipt;
}

}  // namespace ckpt::torch
