#include "model/calls.h"

#include "model/pair_lists.h"

namespace ckpt {

std::pair<std::string_view, std::string_view> callable(const ValueGraph& values, ValueId object) {
  const ValueId called = values.items(object)[0];
  if (values.kind(called) != ValueKind::global) return {};
  return {values.module(called), values.name(called)};
}

void each_attached(const ValueGraph& values, ValueId object, const std::function<void(ValueId)>& use) {
  const ValueId given = given_pairs(values, object);
  for (const ValueId argument : call_arguments(values, object))
    if (argument != given) use(argument);
  for (auto handle = values.first_effect(object); handle != 0; handle = values.effect(handle).next) {
    if (values.effect(handle).kind != EffectKind::build) continue;
    const ValueId state = values.items(values.effect(handle))[0];
    use(state);
    if (values.kind(state) == ValueKind::tuple)  // attributes, and those of __slots__
      for (const ValueId part : values.items(state)) use(part);
  }
}

ValueId members_of_set_call(const ValueGraph& values, ValueId object) {
  const auto [module, name] = callable(values, object);
  const bool is_builtin = module == "builtins" || module == "__builtin__";
  if (!is_builtin || (name != "set" && name != "frozenset") || values.call(object) != CallKind::reduce) return no_value;
  const auto arguments = call_arguments(values, object);
  return arguments.size() == 1 && values.kind(arguments[0]) == ValueKind::list ? arguments[0] : no_value;
}

bool puts_on_device(std::string_view name) {
  return name == "_rebuild_device_tensor_from_cpu_tensor" || name == "_rebuild_device_tensor_from_numpy" ||
         name == "_rebuild_xla_tensor" || name == "_rebuild_hpu_tensor" || name == "_rebuild_mlc_tensor";
}

ValueId without_type_tag(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::object || values.first_effect(id) != 0) return id;
  if (callable(values, id) != std::pair<std::string_view, std::string_view>("torch.jit._pickle", "restore_type_tag"))
    return id;
  const auto arguments = call_arguments(values, id);
  return arguments.empty() ? id : arguments[0];
}

std::span<const ValueId> call_arguments(const ValueGraph& values, ValueId object) {
  const auto items = values.items(object).subspan(1);
  const CallKind call = values.call(object);
  if (call == CallKind::inst || call == CallKind::obj) return items;
  return values.kind(items[0]) == ValueKind::tuple ? values.items(items[0]) : std::span<const ValueId>();
}

}  // namespace ckpt
