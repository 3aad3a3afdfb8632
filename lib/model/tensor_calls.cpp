#include "model/tensor_calls.h"

#include <algorithm>

#include "model/storage_types.h"

namespace ckpt {

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

std::array<ValueId, 2> TensorCalls::rebuild(ValueId storage, const TensorInfo& info, bool typed) {
  std::vector<ValueId> arguments{storage,
                                 values_.make_integer(info.offset),
                                 integers(info.shape),
                                 integers(info.stride),
                                 values_.make_boolean(false),
                                 ordered_dict()};
  if (!typed) arguments.push_back(dtype(info.dtype));
  if (info.conjugate || info.negative) {
    std::vector<ValueId> flags;
    if (info.conjugate) flags.insert(flags.end(), {text("conj"), values_.make_boolean(true)});
    if (info.negative) flags.insert(flags.end(), {text("neg"), values_.make_boolean(true)});
    const ValueId metadata = kept(values_.make_container(ValueKind::dict));
    values_.add_effect(metadata, EffectKind::set_items, flags);
    arguments.push_back(metadata);
  }
  return {global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3"),
          kept(values_.make_tuple(arguments))};
}

ValueId TensorCalls::global(std::string_view module, std::string_view name) {
  const auto [found, fresh] = globals_.try_emplace({std::string(module), std::string(name)}, no_value);
  if (fresh) found->second = kept(values_.make_global(module, name));
  return found->second;
}

ValueId TensorCalls::text(std::string_view text) {
  const auto found = texts_.find(text);
  if (found != texts_.end()) return found->second;
  return texts_[std::string(text)] = kept(values_.make_str(text));
}

ValueId TensorCalls::ordered_dict(std::span<const ValueId> pairs) {
  const ValueId call[] = {global("collections", "OrderedDict"), values_.make_tuple({})};
  const ValueId dict = kept(values_.make_object(CallKind::reduce, call));
  if (!pairs.empty()) values_.add_effect(dict, EffectKind::set_items, pairs);
  return dict;
}

ValueId TensorCalls::integers(std::span<const std::int64_t> numbers) {
  std::vector<ValueId> items;
  items.reserve(numbers.size());
  for (const std::int64_t number : numbers) items.push_back(values_.make_integer(number));
  const ValueId tuple = values_.make_tuple(items);
  return items.empty() ? tuple : kept(tuple);
}

void TensorCalls::list_globals(std::vector<GlobalUse>& globals) const {
  for (const auto& made : globals_) {
    const auto& name = made.first;
    const bool listed = std::any_of(globals.begin(), globals.end(), [&](const GlobalUse& use) {
      return use.module == name.first && use.name == name.second;
    });
    if (!listed) globals.push_back({name.first, name.second, Verdict::known, 0});
  }
}

}  // namespace ckpt
