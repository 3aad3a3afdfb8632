#include "pickle/name_risks.h"

#include <span>

#include "model/calls.h"

namespace ckpt::pickle {

bool begins_with(const ValueGraph& values, std::span<const ValueId> items, std::string_view kind) {
  if (items.size() < 2) return false;
  const bool is_text = values.is_string(items[0]) || values.kind(items[0]) == ValueKind::bytes;
  return is_text && values.text(items[0]) == kind;
}

ValueId class_meant(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::persistent) return id;
  const ValueId tuple = values.items(id)[0];
  if (values.kind(tuple) != ValueKind::tuple) return id;
  const auto items = values.items(tuple);
  if (begins_with(values, items, "module")) return items[1];
  const auto is_name = [&](ValueId item) {
    return values.kind(item) == ValueKind::global || values.kind(item) == ValueKind::persistent;
  };
  return !items.empty() && is_name(items[0]) ? items[0] : id;
}

bool stands_for_storage(const ValueGraph& values, ValueId persistent) {
  const ValueId id = values.items(persistent)[0];
  if (values.kind(id) != ValueKind::tuple) return values.is_string(id) || values.kind(id) == ValueKind::integer;
  const auto items = values.items(id);
  return !items.empty() && values.is_string(items[0], "storage");
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
