#include <algorithm>
#include <initializer_list>

#include "ckpt/state_dict.h"
#include "model/byte_texts.h"
#include "model/calls.h"
#include "model/pair_lists.h"
#include "model/walk.h"
#include "ops/view_builder.h"

namespace ckpt {
namespace {

bool is_literal(ValueKind kind) {
  return kind == ValueKind::str || kind == ValueKind::py2_str || kind == ValueKind::bytes ||
         kind == ValueKind::bytearray;
}

/// True for a call, REDUCE with nothing done to what it made, of one of `names`. Where a view has to look into another
/// one, only at such of its making: views that call each other would go as deep as the file likes.
bool is_call_of(const ValueViews& views, const ValueGraph& values, ValueId id,
                std::initializer_list<std::string_view> names) {
  if (values.kind(id) != ValueKind::object || values.call(id) != CallKind::reduce || values.first_effect(id) != 0)
    return false;
  return std::find(names.begin(), names.end(), views.global_name(values.items(id)[0])) != names.end();
}

}  // namespace

void ViewBuilder::object() {
  const ValueId id = view_.value;
  if (views_.tensor(id) != nullptr) return container(Family::tensor, "tensor");
  const auto items = values_.items(id);
  const CallKind call = values_.call(id);
  const bool listed = call == CallKind::inst || call == CallKind::obj;
  if (!listed && values_.kind(items[1]) != ValueKind::tuple) {
    any_call(items[0], items.subspan(1));
    return children_.add_effects(id, false);
  }
  const Arguments arguments = call_arguments(values_, id);
  const std::string name = views_.global_name(items[0]);
  if (is_mapping(values_, id)) return mapping_call(name, arguments);
  const bool unchanged = values_.first_effect(id) == 0;
  if (call == CallKind::reduce && ((unchanged && atom_call(name, arguments)) || array_call(name, arguments))) return;
  const bool seen_through =
      call == CallKind::reduce &&
      (container_call(name, arguments) || instance_call(name, arguments) || partial_call(items[0], arguments));
  if (!seen_through)
    any_call(items[0], arguments, call == CallKind::newobj_ex && items.size() > 2 ? items[2] : no_value);
  children_.add_effects(id, false);
}

void ViewBuilder::any_call(ValueId callable, Arguments arguments, ValueId keywords) {
  const std::string name = views_.global_name(callable);
  container(Family::object, name.empty() ? "a call" : name);
  if (name.empty()) children_.add("c", "callable", callable);
  children_.add_arguments(arguments);
  if (keywords != no_value && is_mapping(values_, keywords)) children_.add_keywords(keywords);
}

void ViewBuilder::mapping_call(const std::string& name, Arguments arguments) {
  container(Family::mapping, name == "builtins.dict" ? "dict" : name);
  const ValueId given = given_pairs(values_, view_.value);
  const bool are_entries = given != no_value && (values_.kind(given) == ValueKind::dict ||
                                                 lists_pairs(values_, given, values_.made(view_.value)));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!are_entries || arguments[i] != given) children_.add("r", std::to_string(i), arguments[i]);
  children_.add_mapping(view_.value);
  children_.add_effects(view_.value, true);
}

/// Bytes before protocol 3, bytearrays before 5, attributes of classes before 4.
bool ViewBuilder::atom_call(std::string_view name, Arguments arguments) {
  const bool first_is_text = !arguments.empty() && values_.is_string(arguments[0]);
  const bool latin1 = arguments.size() == 2 && values_.is_string(arguments[1]) && is_latin1(values_.text(arguments[1]));
  const auto take = [&](const char* type, std::optional<std::string> bytes) {
    if (bytes) atom(type, std::move(*bytes));
    return bytes.has_value();
  };
  if (name == "_codecs.encode" && first_is_text && latin1) return take("bytes", to_latin1(values_.text(arguments[0])));
  if (name == "builtins.bytes" && arguments.empty()) return take("bytes", "");
  if (name == "builtins.bytearray") {
    if (arguments.empty()) return take("bytearray", "");
    if (first_is_text && latin1) return take("bytearray", to_latin1(values_.text(arguments[0])));
    if (arguments.size() != 1) return false;
    // Bytes, however spelt, but no bytearray again.
    const bool is_bytes = values_.kind(arguments[0]) == ValueKind::bytes ||
                          is_call_of(views_, values_, arguments[0], {"_codecs.encode", "builtins.bytes"});
    if (!is_bytes) return false;
    const ValueView inner = views_.of(arguments[0]);
    return inner.type == "bytes" && take("bytearray", inner.atom + std::string(inner.text));
  }
  if (name == "builtins.getattr" && arguments.size() == 2 && values_.is_string(arguments[1])) {
    const std::string holder = views_.global_name(arguments[0]);
    return !holder.empty() && take("global", holder + "." + std::string(values_.text(arguments[1])));
  }
  return false;
}

/// Sets before protocol 4.
bool ViewBuilder::container_call(std::string_view name, Arguments arguments) {
  if (name != "builtins.set" && name != "builtins.frozenset") return false;
  if (arguments.size() > 1) return false;
  if (!arguments.empty() && values_.kind(arguments[0]) != ValueKind::list) return false;
  container(Family::set, std::string(name.substr(name.find('.') + 1)));
  if (arguments.empty()) return true;
  children_.add_members(values_.items(arguments[0]));
  children_.add_members(appended_to(values_, arguments[0]));
  return true;
}

/// Instances before protocol 2, and what copyreg's functions say in words that NEWOBJ says by itself.
bool ViewBuilder::instance_call(std::string_view name, Arguments arguments) {
  if (name == "copyreg.__newobj__" && !arguments.empty()) {
    any_call(arguments[0], arguments.subspan(1));
    return true;
  }
  if (name == "copyreg.__newobj_ex__" && arguments.size() == 3) {
    any_call(arguments[0], tuple(arguments[1]), arguments[2]);
    return true;
  }
  if (name != "copyreg._reconstructor" || arguments.size() != 3) return false;
  // (class, base, what the base keeps): nothing where the base is object, as it mostly is.
  const ValueId kept = arguments[2];
  const ValueKind kind = values_.kind(kept);
  const bool holds = kind == ValueKind::dict || kind == ValueKind::list || kind == ValueKind::none;
  any_call(arguments[0], holds ? Arguments() : arguments.subspan(2));
  if (kind == ValueKind::dict) children_.add_mapping(kept);
  if (kind == ValueKind::list) children_.add_positions(values_.items(kept));
  if (kind == ValueKind::list) children_.add_positions(appended_to(values_, kept));
  return true;
}

/// NEWOBJ_EX before protocol 4: functools.partial(cls.__new__, cls, *arguments, **keywords)(), whose arguments stand in
/// the partial's state (func, args, keywords, attributes).
bool ViewBuilder::partial_call(ValueId callable, Arguments arguments) {
  if (!arguments.empty() || values_.kind(callable) != ValueKind::object) return false;
  if (views_.global_name(values_.items(callable)[0]) != "functools.partial") return false;
  const auto handle = values_.first_effect(callable);
  if (handle == 0 || values_.effect(handle).kind != EffectKind::build) return false;
  const Arguments state = tuple(values_.items(values_.effect(handle))[0]);
  if (state.size() < 3 || tuple(state[1]).empty()) return false;
  const ValueId made = tuple(state[1])[0];
  const std::string name = views_.global_name(made);
  // getattr(cls, "__new__"), or the same as one name.
  const bool makes =
      values_.kind(state[0]) == ValueKind::global || is_call_of(views_, values_, state[0], {"builtins.getattr"});
  if (!makes || views_.of(state[0]).atom != name + ".__new__") return false;
  any_call(made, tuple(state[1]).subspan(1), state[2]);
  return true;
}

/// Arrays of numpy: before protocol 5 _reconstruct(type, (0,), b'b') with the state (version, shape, dtype, Fortran,
/// data), then _frombuffer(data, dtype, shape, order).
bool ViewBuilder::array_call(std::string_view name, Arguments arguments) {
  if (name == "numpy.core.numeric._frombuffer" && arguments.size() == 4 && values_.is_string(arguments[3]))
    return array(no_value, arguments[2], arguments[1], values_.text(arguments[3]) == "F", arguments[0]);
  if (name != "numpy.core.multiarray._reconstruct" || arguments.empty()) return false;
  const auto handle = values_.first_effect(view_.value);
  if (handle == 0 || values_.effect(handle).kind != EffectKind::build || values_.effect(handle).next != 0) return false;
  const Arguments state = tuple(values_.items(values_.effect(handle))[0]);
  if (state.size() != 5 || values_.kind(state[3]) != ValueKind::boolean) return false;
  return array(arguments[0], state[1], state[2], values_.boolean(state[3]), state[4]);
}

bool ViewBuilder::array(ValueId type, ValueId shape, ValueId dtype, bool fortran, ValueId data) {
  const bool is_bytes = is_literal(values_.kind(data)) ||
                        is_call_of(views_, values_, data, {"_codecs.encode", "builtins.bytes", "builtins.bytearray"});
  if (!is_bytes) return false;  // of objects
  ValueView bytes = views_.of(data);
  if (bytes.type != "bytes" && bytes.type != "bytearray" && bytes.type != "str") return false;
  const std::string name = type == no_value ? "numpy.ndarray" : views_.global_name(type);
  container(Family::object, name + (fortran ? " in Fortran's order" : ""));
  view_.atom = std::move(bytes.atom);
  view_.text = bytes.text;
  children_.add("w", "shape", shape);
  children_.add("w", "dtype", dtype);
  return true;
}

}  // namespace ckpt
