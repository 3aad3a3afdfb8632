#include "ops/tensor_place.h"

#include "model/calls.h"

namespace ckpt {
namespace {

bool is_rebuild(std::string_view module, std::string_view name) {
  return module == "torch._utils" && (name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" ||
                                      name == "_rebuild_tensor_v3" || name == "_rebuild_qtensor");
}

/// torch.FloatTensor(), then BUILD((storage, offset, size, stride)): torch 0.2 and before.
ValueId storage_in_state(const ValueGraph& values, ValueId call) {
  const auto handle = values.first_effect(call);
  if (handle == 0 || values.effect(handle).kind != EffectKind::build) return no_value;
  const ValueId state = values.items(values.effect(handle))[0];
  auto items = values.items(state);
  if (items.empty() && values.first_effect(state) != 0) items = values.items(values.effect(values.first_effect(state)));
  return items.empty() ? no_value : items[0];
}

}  // namespace

bool is_tensor_wrapper(std::string_view module, std::string_view name) {
  if (module == "torch._utils") return name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state";
  if (module == "torch.nn.parameter") return name == "Parameter" || name == "Buffer";
  return module == "torch.autograd.variable" && name == "Variable";
}

TensorPlace tensor_place(const Checkpoint& checkpoint, ValueId call) {
  const ValueGraph& values = checkpoint.values;
  if (values.kind(call) != ValueKind::object) return {};
  auto [module, name] = callable(values, call);
  auto given = call_arguments(values, call);
  auto form = values.call(call) == CallKind::reduce ? TensorPlace::Form::tuple : TensorPlace::Form::other;
  if (is_rebuild_from_type(module, name) && given.size() > 2 && values.kind(given[0]) == ValueKind::global &&
      values.kind(given[2]) == ValueKind::tuple) {
    if (form != TensorPlace::Form::tuple) return {};
    form = TensorPlace::Form::subclass;
    module = values.module(given[0]);
    name = values.name(given[0]);
    given = values.items(given[2]);
  }
  const bool around = is_tensor_wrapper(module, name) || (module == "torch._utils" && puts_on_device(name));
  if (around) return {no_value, given.empty() ? no_value : given[0], form};
  ValueId storage = no_value;
  if (!is_rebuild(module, name)) {
    storage = storage_in_state(values, call);
    form = TensorPlace::Form::other;
  } else if (!given.empty()) {
    storage = given[0];
  }
  if (storage == no_value || find_storage_use(checkpoint, storage) == nullptr) return {};
  return {storage, no_value, form};
}

}  // namespace ckpt
