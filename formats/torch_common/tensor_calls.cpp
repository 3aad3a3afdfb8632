#include "torch_common/tensor_calls.h"

#include "torch_common/storage_types.h"

namespace ckpt::torch {

ValueId TensorCalls::storage_id(std::string_view module, std::string_view name, const std::string& key,
                                const std::string& location, std::uint64_t elements) {
  const ValueId items[] = {text("storage"), global(module, name), kept(values_.make_str(key)), text(location),
                           values_.make_integer(static_cast<std::int64_t>(elements))};
  return kept(values_.make_tuple(items));
}

ValueId TensorCalls::storage_id(DType dtype, const std::string& key, const std::string& location,
                                std::uint64_t nbytes) {
  if (const auto name = storage_class(dtype))
    return storage_id("torch", *name, key, location, nbytes / dtype_size(dtype));
  return storage_id("torch.storage", "UntypedStorage", key, location, nbytes);
}

std::pair<ValueId, ValueId> TensorCalls::rebuild(ValueId storage, const TensorInfo& info) {
  const bool typed = storage_class(info.dtype).has_value();
  std::vector<ValueId> arguments{storage,
                                 values_.make_integer(info.offset),
                                 integers(info.shape),
                                 integers(info.stride),
                                 values_.make_boolean(false),
                                 ordered_dict()};
  if (!typed) arguments.push_back(global("torch", dtype_name(info.dtype)));
  return {global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3"),
          kept(values_.make_tuple(arguments))};
}

ValueId TensorCalls::global(std::string_view module, std::string_view name) {
  const auto [found, fresh] = globals_.try_emplace({std::string(module), std::string(name)}, no_value);
  if (fresh) found->second = kept(values_.make_global(module, name));
  return found->second;
}

ValueId TensorCalls::text(const std::string& text) {
  const auto [found, fresh] = texts_.try_emplace(text, no_value);
  if (fresh) found->second = kept(values_.make_str(text));
  return found->second;
}

ValueId TensorCalls::ordered_dict() {
  const ValueId call[] = {global("collections", "OrderedDict"), values_.make_tuple({})};
  return kept(values_.make_object(CallKind::reduce, call));
}

ValueId TensorCalls::integers(const std::vector<std::int64_t>& numbers) {
  std::vector<ValueId> items;
  items.reserve(numbers.size());
  for (const std::int64_t number : numbers) items.push_back(values_.make_integer(number));
  const ValueId tuple = values_.make_tuple(items);
  return items.empty() ? tuple : kept(tuple);
}

}  // namespace ckpt::torch
