#include "ops/plain_tensors.h"

#include <algorithm>
#include <optional>
#include <span>

#include "ckpt/dtype.h"

namespace ckpt {
namespace {

/// Module and name of what is called; empty where that is no global.
std::pair<std::string_view, std::string_view> callable(const ValueGraph& values, ValueId object) {
  const ValueId called = values.items(object)[0];
  if (values.kind(called) != ValueKind::global) return {};
  return {values.module(called), values.name(called)};
}

std::span<const ValueId> arguments(const ValueGraph& values, ValueId object) {
  const auto items = values.items(object).subspan(1);
  const CallKind call = values.call(object);
  if (call == CallKind::inst || call == CallKind::obj) return items;
  return values.kind(items[0]) == ValueKind::tuple ? values.items(items[0]) : std::span<const ValueId>();
}

bool is_wrapper(std::string_view module, std::string_view name) {
  if (module == "torch._utils") return name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state";
  if (module == "torch.nn.parameter") return name == "Parameter" || name == "Buffer";
  return module == "torch.autograd.variable" && name == "Variable";
}

}  // namespace

PlainTensors::PlainTensors(Checkpoint& checkpoint)
    : checkpoint_(checkpoint), values_(checkpoint.values), used_(checkpoint.values.size()) {
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
    const auto given = arguments(values_, inner);
    if (!is_wrapper(module, name) || given.empty() || !tensors_.contains(given[0])) break;
    passed.push_back(inner);
    inner = given[0];
  }
  for (const ValueId wrapper : passed) inner_[wrapper] = inner;
  return inner;
}

/// The storage that a strided tensor is made on, or no_value where it is made in another way.
ValueId PlainTensors::storage_of(ValueId call) const {
  const auto [module, name] = callable(values_, call);
  const bool rebuild = name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" || name == "_rebuild_tensor_v3";
  std::span<const ValueId> from;
  if (module == "torch._utils" && rebuild) {
    from = arguments(values_, call);
  } else if (const auto handle = values_.first_effect(call);
             handle != 0 && values_.effect(handle).kind == EffectKind::build) {
    // torch.FloatTensor(), then BUILD((storage, offset, size, stride)): torch 0.2 and before.
    const ValueId state = values_.items(values_.effect(handle))[0];
    from = values_.items(state);
    if (from.empty() && values_.first_effect(state) != 0)
      from = values_.items(values_.effect(values_.first_effect(state)));
  }
  return !from.empty() && find_storage_use(checkpoint_, from[0]) != nullptr ? from[0] : no_value;
}

/// Whether the call is what torch.save writes of a detached tensor.
bool PlainTensors::is_plain(ValueId call) const {
  const auto [module, name] = callable(values_, call);
  if (module != "torch._utils" || values_.call(call) != CallKind::reduce) return false;
  if (name != "_rebuild_tensor_v2" && name != "_rebuild_tensor_v3") return false;
  const auto given = arguments(values_, call);
  return given.size() > 4 && values_.kind(given[4]) == ValueKind::boolean && !values_.boolean(given[4]);
}

ValueId PlainTensors::detached(ValueId id) {
  const auto found = tensors_.find(id);
  if (found == tensors_.end()) return no_value;
  const Tensor& tensor = checkpoint_.tensors[found->second];
  const ValueId call = inner_call(id);
  const bool first = !used_[call];
  used_[call] = true;
  if (first && is_plain(call)) return call;
  const TensorInfo& info = tensor.info;
  const bool strided = info.layout == Layout::strided && tensor.storage && tensor.device_holder == no_value;
  if (!strided || is_quantised(info.dtype) || info.conjugate || info.negative) return call;
  const ValueId storage = storage_of(call);
  return storage == no_value ? call : rebuilt(tensor, storage);
}

ValueId PlainTensors::rebuilt(const Tensor& tensor, ValueId storage) {
  const bool typed = checkpoint_.storages[*tensor.storage].typed;
  std::vector<ValueId> given{storage,
                             values_.make_integer(tensor.info.offset),
                             integers(tensor.info.shape),
                             integers(tensor.info.stride),
                             values_.make_boolean(false),
                             ordered_dict({})};
  if (!typed) given.push_back(global("torch", dtype_name(tensor.info.dtype)));
  const ValueId call[] = {global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3"),
                          kept(values_.make_tuple(given))};
  Tensor copy = tensor;
  copy.value = kept(values_.make_object(CallKind::reduce, call));
  made_.push_back(std::move(copy));
  return made_.back().value;
}

ValueId PlainTensors::text(std::string_view text) {
  const auto found = texts_.find(text);
  if (found != texts_.end()) return found->second;
  return texts_[std::string(text)] = kept(values_.make_str(text));
}

ValueId PlainTensors::ordered_dict(const std::vector<ValueId>& pairs) {
  const ValueId call[] = {global("collections", "OrderedDict"), values_.make_tuple({})};
  const ValueId dict = kept(values_.make_object(CallKind::reduce, call));
  if (!pairs.empty()) values_.add_effect(dict, EffectKind::set_items, pairs);
  return dict;
}

ValueId PlainTensors::global(std::string_view module, std::string_view name) {
  const auto [found, fresh] = globals_.try_emplace({std::string(module), std::string(name)}, no_value);
  if (fresh) found->second = kept(values_.make_global(module, name));
  return found->second;
}

ValueId PlainTensors::integers(const std::vector<std::int64_t>& numbers) {
  std::vector<ValueId> items;
  items.reserve(numbers.size());
  for (const std::int64_t number : numbers) items.push_back(values_.make_integer(number));
  const ValueId tuple = values_.make_tuple(items);
  return items.empty() ? tuple : kept(tuple);
}

/// Python keeps everything in the memo but numbers and the empty tuple.
ValueId PlainTensors::kept(ValueId id) {
  values_.set_memoized(id);
  return id;
}

void PlainTensors::finish() {
  for (Tensor& tensor : made_) checkpoint_.tensors.push_back(std::move(tensor));
  made_.clear();
  for (const auto& made : globals_) {
    const auto& name = made.first;
    const bool listed = std::any_of(checkpoint_.globals.begin(), checkpoint_.globals.end(), [&](const GlobalUse& use) {
      return use.module == name.first && use.name == name.second;
    });
    if (!listed) checkpoint_.globals.push_back({name.first, name.second, Verdict::known, 0});
  }
}

}  // namespace ckpt
