#include "pickled_tensors/tensors.h"

#include <algorithm>
#include <limits>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/shape.h"
#include "ckpt/state_dict.h"
#include "io/bytes.h"
#include "model/calls.h"
#include "model/storage_types.h"
#include "pickle/policy.h"
#include "pickled_tensors/arguments.h"
#include "pickled_tensors/storage_ids.h"

namespace ckpt::torch {
namespace {

/// Throws unless every element of the tensor lies within `elements`, those of `storage` where that is given.
void check_geometry(const TensorInfo& info, std::uint64_t elements = std::numeric_limits<std::uint64_t>::max(),
                    const Storage* storage = nullptr) {
  const auto fail = [&](const std::string& what, const std::string& expected) {
    throw Error(ErrorCode::corrupt, "a " + std::string(dtype_name(info.dtype)) + " tensor of shape " +
                                        shape_text(info.shape) + ", stride " + shape_text(info.stride) + ", offset " +
                                        std::to_string(info.offset) + " " + what)
        .expected(expected);
  };
  if (info.shape.size() != info.stride.size()) fail("has not one stride a dimension", "as many of both");
  std::int64_t last = info.offset;
  std::int64_t count = 1;
  bool empty = false, overflows = false;
  if (info.offset < 0) fail("has a negative offset", "0 or more");
  for (std::size_t i = 0; i < info.shape.size(); ++i) {
    if (info.shape[i] < 0 || info.stride[i] < 0) fail("has a negative size or stride", "0 or more");
    if (info.shape[i] == 0) {
      empty = true;
      continue;
    }
    overflows |= __builtin_mul_overflow(count, info.shape[i], &count);
    std::int64_t reach = 0;
    overflows |= __builtin_mul_overflow(info.shape[i] - 1, info.stride[i], &reach);
    overflows |= __builtin_add_overflow(last, reach, &last);
  }
  if (overflows) fail("overflows 63 bits", "sizes that any machine could hold");
  if (!empty && static_cast<std::uint64_t>(last) >= elements)
    fail("reaches element " + std::to_string(last),
         "below " + std::to_string(elements) +
             (storage == nullptr ? "" : ", what its storage '" + storage->key + "' holds"));
}

class Decoder {
 public:
  Decoder(Checkpoint& checkpoint, Doubts* doubts)
      : checkpoint_(checkpoint), values_(checkpoint.values), doubts_(doubts) {}

  void run() {
    checkpoint_.tensors.reserve(checkpoint_.storage_uses.size());
    // Operands are older than the calls that take them, so one pass in order finds inner tensors first.
    for (ValueId id = 0; id < values_.size(); ++id) {
      if (values_.kind(id) != ValueKind::object) continue;
      const auto items = values_.items(id);
      if (values_.kind(items[0]) != ValueKind::global) continue;
      current_ = id;
      std::optional<Tensor> tensor = decode_or_doubt(id, items);
      if (!tensor) continue;
      if (checkpoint_.tensors.size() == limits::pickle_tensor_cap(values_.size()))
        throw Error(ErrorCode::limit_exceeded, "the pickle makes more than " +
                                                   std::to_string(checkpoint_.tensors.size()) + " tensors of its " +
                                                   std::to_string(values_.size()) + " values");
      tensor->value = id;
      checkpoint_.tensors.push_back(std::move(*tensor));
    }
  }

  /// The object that is being decoded.
  [[nodiscard]] ValueId current() const { return current_; }

 private:
  std::optional<Tensor> decode_or_doubt(ValueId id, std::span<const ValueId> items) {
    if (doubts_ == nullptr) return decode(id, items);
    try {
      return decode(id, items);
    } catch (const Error& error) {
      doubts_->push_back({id, std::make_shared<const Error>(error)});
      return Tensor{};
    }
  }

  std::optional<Tensor> decode(ValueId id, std::span<const ValueId> items);
  std::optional<Tensor> call(std::string_view module, std::string_view name, std::span<const ValueId> arguments,
                             ValueId holder);
  std::optional<Tensor> rebuild(std::string_view name, const Arguments& arguments);
  std::optional<Tensor> legacy_tensor(ValueId id, DType dtype);
  std::optional<Tensor> wrapped(ValueId id) const;
  const StorageUse* use_of(ValueId id);

  Tensor strided(const Arguments& arguments, std::size_t storage, std::optional<DType> dtype);
  void read_lazy_views(ValueId metadata, TensorInfo& info);
  Tensor sparse(const Arguments& arguments);
  Tensor nested(const Arguments& arguments);
  Tensor storageless(const Arguments& arguments, std::size_t dtype, std::size_t shape, std::string device);
  Tensor::Part part(std::string name, const Arguments& arguments, std::size_t index) const;
  std::string device_name(ValueId id) const;
  void name_device(Tensor& tensor, const Arguments& arguments, std::size_t index) const;
  std::optional<Tensor> on_device(const Arguments& arguments);

  Checkpoint& checkpoint_;
  const ValueGraph& values_;
  Doubts* doubts_;
  ValueId current_ = no_value;
  std::size_t next_use_ = 0;
  /// What metadata says, which thousands of tensors may be given.
  struct LazyViews {
    bool conjugate = false, negative = false;
  };
  std::unordered_map<ValueId, LazyViews> lazy_views_;
};

std::optional<Tensor> Decoder::wrapped(ValueId id) const {
  const auto& tensors = checkpoint_.tensors;
  const auto found = std::lower_bound(tensors.begin(), tensors.end(), id,
                                      [](const Tensor& tensor, ValueId wanted) { return tensor.value < wanted; });
  if (found == tensors.end() || found->value != id) return std::nullopt;
  return *found;
}

/// find_storage_use(): storages mostly come in the order of the tensors that lie in them.
const StorageUse* Decoder::use_of(ValueId id) {
  const auto& uses = checkpoint_.storage_uses;
  if (next_use_ >= uses.size() || uses[next_use_].first != id) {
    const StorageUse* const found = find_storage_use(checkpoint_, id);
    if (found == nullptr) return nullptr;
    next_use_ =
        static_cast<std::size_t>(std::lower_bound(uses.begin(), uses.end(), id,
                                                  [](const auto& use, ValueId wanted) { return use.first < wanted; }) -
                                 uses.begin());
  }
  return &uses[next_use_++].second;
}

/// (storage, offset, size, stride, …) at arguments[storage …]; the dtype is the storage's unless one is given.
Tensor Decoder::strided(const Arguments& arguments, std::size_t storage, std::optional<DType> dtype) {
  const ValueId id = arguments.at(storage);
  const StorageUse* const use = use_of(id);
  if (use == nullptr) arguments.fail(storage, "a storage");
  const Storage& holds = checkpoint_.storages[use->storage];
  Tensor tensor;
  tensor.storage = use->storage;
  // One without bytes may be of several dtypes.
  std::optional<StorageId> own;
  if (holds.nbytes == 0 && !dtype && values_.kind(id) == ValueKind::persistent)
    own = decode_storage_id(values_, values_.items(id)[0]);
  tensor.info.dtype = own ? own->type.dtype : dtype.value_or(holds.dtype);
  tensor.info.offset = arguments.integer(storage + 1);
  tensor.info.shape = arguments.integers(storage + 2);
  tensor.info.stride = arguments.integers(storage + 3);
  const StorageView* const view = use->view.get();
  tensor.view_offset = view == nullptr ? 0 : view->offset;
  const std::uint64_t bytes = view == nullptr ? holds.nbytes : view->size * dtype_size(holds.dtype);
  const std::uint64_t elements = bytes / dtype_size(tensor.info.dtype);
  if (dtype_per_byte(tensor.info.dtype) == 1) {
    check_geometry(tensor.info, elements, &holds);
  } else {
    check_geometry(tensor.info);
    check_geometry(packed(tensor.info), elements, &holds);
  }
  // An empty tensor may begin anywhere, as long as that is a number.
  if (!checked_add(tensor.info.offset, static_cast<std::int64_t>(tensor.view_offset)))
    throw Error(ErrorCode::corrupt, "a tensor begins past 2^63 elements of its storage");
  return tensor;
}

/// The last argument that torch gives a tensor's rebuilding: {'conj': True, 'neg': True}, or None.
void Decoder::read_lazy_views(ValueId argument, TensorInfo& info) {
  const ValueId metadata = without_type_tag(values_, argument);
  if (!is_mapping(values_, metadata)) return;
  const auto [known, fresh] = lazy_views_.try_emplace(metadata);
  LazyViews& views = known->second;
  if (fresh)
    for (const MappingEntry& entry : mapping_entries(values_, metadata)) {
      if (values_.kind(entry.key) != ValueKind::str || values_.kind(entry.value) != ValueKind::boolean) continue;
      if (values_.text(entry.key) == "conj") views.conjugate = values_.boolean(entry.value);
      if (values_.text(entry.key) == "neg") views.negative = values_.boolean(entry.value);
    }
  info.conjugate = views.conjugate;
  info.negative = views.negative;
}

Tensor::Part Decoder::part(std::string name, const Arguments& arguments, std::size_t index) const {
  auto tensor = wrapped(arguments.at(index));
  // Torch has none of parts that have parts; copied with their own, they would multiply without end.
  if (!tensor || !tensor->parts.empty()) arguments.fail(index, "a dense tensor");
  return {std::move(name), std::move(*tensor)};
}

/// (layout, (parts …, size[, is_coalesced])), and of libtorch: (number of the layout, size, requires_grad, parts …)
Tensor Decoder::sparse(const Arguments& arguments) {
  struct Known {
    std::string_view name;
    Layout layout;
    std::vector<std::string> parts;
  };
  static const Known known[] = {{"torch.sparse_coo", Layout::sparse_coo, {"indices", "values"}},
                                {"torch.sparse_csr", Layout::sparse_csr, {"crow_indices", "col_indices", "values"}},
                                {"torch.sparse_csc", Layout::sparse_csc, {"ccol_indices", "row_indices", "values"}},
                                {"torch.sparse_bsr", Layout::sparse_bsr, {"crow_indices", "col_indices", "values"}},
                                {"torch.sparse_bsc", Layout::sparse_bsc, {"ccol_indices", "row_indices", "values"}}};
  arguments.expect(2);
  // torch.serialization._get_layout("torch.sparse_coo")
  std::string_view name;
  const bool by_number = values_.kind(arguments.at(0)) == ValueKind::integer;
  if (by_number) {
    constexpr std::int64_t coo = 1, csr = 2;  // c10/core/Layout.h
    const std::int64_t number = values_.integer(arguments.at(0));
    name = number == coo ? "torch.sparse_coo" : number == csr ? "torch.sparse_csr" : "";
  } else if (values_.kind(arguments.at(0)) == ValueKind::object) {
    const auto call = values_.items(arguments.at(0));
    const auto named = call.size() > 1 ? values_.items(call[1]) : std::span<const ValueId>();
    if (named.size() == 1 && values_.is_string(named[0])) name = values_.text(named[0]);
  }
  const auto* const found =
      std::find_if(std::begin(known), std::end(known), [&](const Known& k) { return k.name == name; });
  if (found == std::end(known)) arguments.fail(0, "a sparse layout of torch");
  const Arguments data =
      by_number ? arguments : Arguments(values_, "torch._utils._rebuild_sparse_tensor", arguments.tuple(1));
  const std::size_t size_at = by_number ? 1 : found->parts.size(), parts_at = by_number ? 3 : 0;
  data.expect(found->parts.size() + (by_number ? 3 : 1));
  Tensor tensor;
  for (std::size_t i = 0; i < found->parts.size(); ++i)
    tensor.parts.push_back(part(found->parts[i], data, parts_at + i));
  tensor.info.layout = found->layout;
  tensor.info.dtype = tensor.parts.back().tensor.info.dtype;
  tensor.info.shape = data.integers(size_at);
  TensorInfo sizes_only = tensor.info;
  sizes_only.stride.assign(sizes_only.shape.size(), 0);
  check_geometry(sizes_only);
  return tensor;
}

Tensor Decoder::nested(const Arguments& arguments) {
  arguments.expect(4);
  static const char* const names[] = {"buffer", "sizes", "strides", "storage_offsets"};
  Tensor tensor;
  for (std::size_t i = 0; i < std::size(names); ++i) tensor.parts.push_back(part(names[i], arguments, i));
  tensor.info.layout = Layout::nested;
  tensor.info.dtype = tensor.parts.front().tensor.info.dtype;
  return tensor;
}

std::string Decoder::device_name(ValueId id) const {
  if (values_.kind(id) == ValueKind::str) return std::string(values_.text(id));
  if (values_.kind(id) != ValueKind::object) return {};
  const auto call = values_.items(id);  // torch.device("cuda", 0)
  const auto parts = call.size() > 1 ? values_.items(call[1]) : std::span<const ValueId>();
  if (parts.empty() || values_.kind(parts[0]) != ValueKind::str) return {};
  std::string name(values_.text(parts[0]));
  if (parts.size() > 1 && values_.kind(parts[1]) == ValueKind::integer)
    name += ":" + std::to_string(values_.integer(parts[1]));
  return name;
}

/// A tensor with dtype, shape and stride (at shape + 1) and no bytes in any storage.
Tensor Decoder::storageless(const Arguments& arguments, std::size_t dtype, std::size_t shape, std::string device) {
  Tensor tensor;
  tensor.info.dtype = arguments.dtype(dtype);
  tensor.info.shape = arguments.integers(shape);
  tensor.info.stride = arguments.integers(shape + 1);
  check_geometry(tensor.info);
  tensor.device = std::move(device);
  return tensor;
}

void Decoder::name_device(Tensor& tensor, const Arguments& arguments, std::size_t index) const {
  tensor.device = device_name(arguments.at(index));
  const ValueId holder = arguments.holder();
  if (holder == no_value || values_.kind(holder) != ValueKind::tuple) return;
  tensor.device_holder = holder;
  tensor.device_index = static_cast<std::uint32_t>(index);
}

/// (data, dtype, device, requires_grad): a tensor of a device that has no storages of its own, kept as one of the CPU
/// or as a numpy array, whose shape is all that is said of it here.
std::optional<Tensor> Decoder::on_device(const Arguments& arguments) {
  arguments.expect(3);
  Tensor tensor = wrapped(arguments.at(0)).value_or(Tensor{});
  if (tensor.value == no_value) {
    const auto handle = values_.first_effect(arguments.at(0));
    if (handle == 0 || values_.effect(handle).kind != EffectKind::build) return std::nullopt;
    // (version, shape, dtype, is_fortran, data), numpy.ndarray.__setstate__
    const auto state = sequence_items(values_, values_.items(values_.effect(handle))[0]);
    if (!state || state->size() < 2) return std::nullopt;
    tensor.info.shape = Arguments(values_, "numpy.ndarray.__setstate__", *state).integers(1);
    tensor.info.stride = contiguous_stride(tensor.info.shape);
    check_geometry(tensor.info);
    tensor.info.dtype = arguments.dtype(1);
  }
  name_device(tensor, arguments, 2);
  return tensor;
}

std::optional<Tensor> Decoder::rebuild(std::string_view name, const Arguments& arguments) {
  // PyTorch would not call them with any other number.
  if (name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" || name == "_rebuild_qtensor") {
    if (name == "_rebuild_tensor")
      arguments.expect(4, 4);
    else
      arguments.expect(name == "_rebuild_qtensor" ? 7 : 6, 7);
    Tensor tensor = strided(arguments, 0, std::nullopt);
    if (name == "_rebuild_tensor_v2" && arguments.size() > 6) read_lazy_views(arguments.at(6), tensor.info);
    return tensor;
  }
  if (name == "_rebuild_tensor_v3") {
    arguments.expect(7, 8);
    Tensor tensor = strided(arguments, 0, arguments.dtype(6));
    if (arguments.size() > 7) read_lazy_views(arguments.at(7), tensor.info);
    return tensor;
  }
  if (name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state") {
    arguments.expect(1);
    return wrapped(arguments.at(0));
  }
  if (puts_on_device(name)) return on_device(arguments);
  if (name == "_rebuild_sparse_tensor" || name == "_rebuild_sparse_csr_tensor") return sparse(arguments);
  if (name == "_rebuild_nested_tensor") return nested(arguments);
  if (name == "_rebuild_meta_tensor_no_storage") {
    arguments.expect(3);
    return storageless(arguments, 0, 1, "meta");
  }
  if (name == "_rebuild_wrapper_subclass") {
    arguments.expect(7);
    Tensor tensor = storageless(arguments, 1, 2, "");
    name_device(tensor, arguments, 6);
    return tensor;
  }
  return std::nullopt;
}

std::optional<Tensor> Decoder::call(std::string_view module, std::string_view name, std::span<const ValueId> arguments,
                                    ValueId holder) {
  const Arguments given(values_, {module, name}, arguments, holder);
  if (module == "torch._utils") return rebuild(name, given);
  if (is_rebuild_from_type(module, name)) {
    given.expect(3);
    const ValueId function = given.at(0);
    if (values_.kind(function) != ValueKind::global || values_.module(function) != "torch._utils") return std::nullopt;
    return rebuild(values_.name(function), Arguments(values_, {module, name}, given.tuple(2), given.at(2)));
  }
  const bool wrapper = (module == "torch.nn.parameter" && (name == "Parameter" || name == "Buffer")) ||
                       (module == "torch.autograd.variable" && name == "Variable");
  return wrapper && !arguments.empty() ? wrapped(arguments[0]) : std::nullopt;
}

/// torch.FloatTensor(), then BUILD((storage, offset, size, stride)): torch 0.2 and before.
std::optional<Tensor> Decoder::legacy_tensor(ValueId id, DType dtype) {
  const auto handle = values_.first_effect(id);
  if (handle == 0 || values_.effect(handle).kind != EffectKind::build) return std::nullopt;
  const ValueId state = values_.items(values_.effect(handle))[0];
  const auto items = sequence_items(values_, state);
  if (!items || items->size() < 4) return std::nullopt;
  return strided(Arguments(values_, "a tensor's __setstate__", *items), 0, dtype);
}

std::optional<Tensor> Decoder::decode(ValueId id, std::span<const ValueId> items) {
  const std::string_view module = values_.module(items[0]), name = values_.name(items[0]);
  if (!module.starts_with("torch")) return std::nullopt;
  const bool listed = values_.call(id) == CallKind::inst || values_.call(id) == CallKind::obj;
  if (const auto dtype = tensor_type(module, name)) return legacy_tensor(id, *dtype);
  if (listed) return call(module, name, items.subspan(1), no_value);
  const auto arguments = sequence_items(values_, items[1]);
  return arguments ? call(module, name, *arguments, items[1]) : std::nullopt;
}

}  // namespace

void decode_tensors(Checkpoint& checkpoint, Doubts* doubts) {
  Decoder decoder(checkpoint, doubts);
  try {
    decoder.run();
  } catch (Error& error) {
    // The name costs a walk, which only a message is worth.
    checkpoint.tensors.assign(1, Tensor{});
    checkpoint.tensors.front().value = decoder.current();
    const auto names = tensor_names(checkpoint);
    checkpoint.tensors.clear();
    if (!names.empty() && !names.front().name.empty()) error.within("tensor '" + names.front().name + "'");
    name_dangers(error, checkpoint.globals);
    throw;
  }
}

}  // namespace ckpt::torch
