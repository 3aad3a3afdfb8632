#include "dcp/record.h"

#include <string>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "model/calls.h"
#include "model/find_entry.h"
#include "model/pair_lists.h"

namespace ckpt::dcp {

std::string_view class_of(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::object) return {};
  ValueId callable = values.items(id)[0];
  // In protocols 0 and 1: copyreg._reconstructor(class, object, None) of Python's, __newobj__(class) of ckpt's.
  if (values.call(id) == CallKind::reduce && values.kind(callable) == ValueKind::global &&
      (values.name(callable) == "_reconstructor" || values.name(callable) == "__newobj__")) {
    const auto arguments = call_arguments(values, id);
    if (arguments.empty()) return {};
    callable = arguments[0];
  }
  const bool ours = values.kind(callable) == ValueKind::global && values.module(callable).starts_with("torch.distrib");
  return ours ? values.name(callable) : std::string_view();
}

ValueId state_of(const ValueGraph& values, ValueId id) {
  const auto handle = values.first_effect(id);
  if (handle == 0) return no_value;
  const Effect& effect = values.effect(handle);
  if (effect.kind != EffectKind::build || effect.next != 0)
    throw Error(ErrorCode::corrupt,
                "an object of " + std::string(class_of(values, id)) + " is changed after it was made")
        .expected("one BUILD");
  return values.items(effect)[0];
}

Record::Record(const ValueGraph& values, ValueId id) : values_(values), id_(id) {
  const ValueId state = state_of(values, id);
  if (state == no_value || values.kind(state) != ValueKind::dict) return;
  // BUILD copies: Python would not see what comes later.
  const Time built = values.effect(values.first_effect(id)).time;
  for (auto handle = values.first_effect(state); handle != 0; handle = values.effect(handle).next)
    if (values.effect(handle).late || values.effect(handle).time > built)
      throw Error(ErrorCode::corrupt, "a state is changed after an object was given it").expected("a dict of its own");
  if (pair_count(values, state) > limits::dcp_record_fields)
    throw Error(ErrorCode::limit_exceeded,
                "an object of more than " + std::to_string(limits::dcp_record_fields) + " fields");
  entries_ = mapping_entries(values, state);
}

ValueId Record::at(std::string_view name) const {
  const MappingEntry* const entry = find_entry(values_, entries_, name);
  return entry == nullptr || values_.kind(entry->value) == ValueKind::none ? no_value : entry->value;
}

std::string_view Record::text(std::string_view name) const {
  const ValueId value = at(name);
  if (value == no_value || !values_.is_string(value)) fail(name, "a string");
  return values_.text(value);
}

std::uint64_t Record::number(std::string_view name) const {
  const ValueId value = at(name);
  if (value == no_value || values_.kind(value) != ValueKind::integer || values_.integer(value) < 0)
    fail(name, "a number, 0 or more");
  return static_cast<std::uint64_t>(values_.integer(value));
}

void Record::fail(std::string_view name, std::string_view expected) const {
  const std::string_view type = class_of(values_, id_);
  throw Error(ErrorCode::corrupt, "a bad '" + std::string(name) + "' of " +
                                      (type.empty() ? "what stands for a class" : "a " + std::string(type)))
      .expected(std::string(expected));
}

}  // namespace ckpt::dcp
