#include "pickle/name_risks.h"

#include "model/calls.h"

namespace ckpt::pickle {

ValueId class_meant(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::persistent) return id;
  const ValueId tuple = values.items(id)[0];
  if (values.kind(tuple) != ValueKind::tuple) return id;
  const auto items = values.items(tuple);
  const bool is_module = items.size() > 1 && values.is_string(items[0]) && values.text(items[0]) == "module";
  return is_module && values.kind(items[1]) == ValueKind::global ? items[1] : id;
}

CallRisk NameRisks::of(ValueId id) {
  if (values_.kind(id) != ValueKind::global) return CallRisk::none;
  const auto [found, fresh] = risks_.try_emplace(name_key(values_, id), CallRisk::none);
  if (fresh) found->second = call_risk(values_.module(id), values_.name(id));
  return found->second;
}

ValueId NameRisks::maker(ValueId object) {
  const ValueId called = class_meant(values_, values_.items(object)[0]);
  const auto arguments = call_arguments(values_, object);
  return of(called) == CallRisk::makes_first && !arguments.empty() ? class_meant(values_, arguments[0]) : called;
}

}  // namespace ckpt::pickle
