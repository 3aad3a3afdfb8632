#include <algorithm>

#include "ckpt/state_dict.h"
#include "model/calls.h"
#include "pickle/call_forms.h"
#include "pickle/call_policy.h"
#include "pickle/name_lists.h"

/// Which values the letters of a form stand for.
namespace ckpt::pickle {
namespace {

constexpr std::string_view plain_of_numpy =
    "_convert_to_stringdtype_kwargs _frombuffer _reconstruct __pyx_unpickle_SeedSequence dtype scalar";

/// What torch.Tensor gives more than a place to keep when it is set.
bool is_set_by_tensors(std::string_view attribute) {
  return attribute.starts_with("__") ||
         lists(
             "real imag data grad _grad names requires_grad retains_grad _backward_hooks "
             "_post_accumulate_grad_hooks grad_dtype",
             attribute);
}

/// torch.float32, torch.strided, torch.channels_last
bool is_constant(std::string_view module, std::string_view name) {
  return module == "torch" && !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
         !lists("device dtype layout memory_format qscheme", name);
}

}  // namespace

bool CallForms::argument_fits(char what, ValueId argument) {
  const ValueKind kind = values_.kind(argument);
  const bool is_whole = kind == ValueKind::integer || kind == ValueKind::boolean || kind == ValueKind::big_integer;
  switch (what) {
    case 'i':
      return is_whole;
    case 'f':
      return is_whole || kind == ValueKind::real || kind == ValueKind::none;
    case 's':
      return values_.is_string(argument);
    case 'y':
      return is_bytes(argument);
    case 'z':
      return values_.is_string(argument) || is_bytes(argument);
    case 'T':
      return is_shape(argument);
    case 'p':
      // In a plain pickle, the bytes of a file that is judged by itself; what is no storage raises an error.
      return kind != ValueKind::global &&
             (kind != ValueKind::object || callable(values_, argument).second == "_load_from_bytes");
    case 'q':
      return kind == ValueKind::global;
    case 'c':
      return kind == ValueKind::global || kind == ValueKind::none;
    case 'k':
      return kind == ValueKind::global || values_.is_string(argument);
    case 't':
      return is_call_of(argument, "torch", "");
    case 'n':
      return kind == ValueKind::none || is_call_of(argument, "torch", "");
    case 'h':
      return is_without_hooks(argument);
    case 'v':
      return is_call_of(argument, "numpy", "_reconstruct _frombuffer");
    case 'd':
      return is_call_of(argument, "numpy", "dtype _convert_to_stringdtype_kwargs");
    case 'D':
      return is_plain(argument);
    case 'S':
      return is_state_of_tensor(argument);
    default:
      return true;
  }
}

/// `names`: none are those of torch's functions that make tensors.
bool CallForms::is_call_of(ValueId id, std::string_view package, std::string_view names) const {
  if (values_.kind(id) != ValueKind::object) return false;
  const auto [module, name] = callable(values_, id);
  return is_in(module, package) && (names.empty() ? name.starts_with("_rebuild_") : lists(names, name));
}

/// Before protocol 3, bytes are a call that spells them.
bool CallForms::is_bytes(ValueId id) const {
  const ValueKind kind = values_.kind(id);
  if (kind != ValueKind::object)
    return kind == ValueKind::bytes || kind == ValueKind::bytearray || kind == ValueKind::py2_str;
  return spells_bytes(callable(values_, id).second);
}

bool CallForms::is_shape(ValueId id) {
  if (values_.kind(id) == ValueKind::object) return callable(values_, id).second == "Size";
  return values_.kind(id) != ValueKind::global && is_plain(id);
}

bool CallForms::is_plain(ValueId id, int depth) {
  switch (values_.kind(id)) {
    case ValueKind::global:
    case ValueKind::extension:
      return false;
    case ValueKind::object:
      return is_call_of(id, "numpy", plain_of_numpy) || is_call_of(id, "torch", "") || is_bytes(id) ||
             callable(values_, id).second == "Size";
    case ValueKind::list:
    case ValueKind::tuple:
    case ValueKind::dict:
    case ValueKind::set:
    case ValueKind::frozenset:
      return is_plain_container(id, depth);
    default:
      return true;
  }
}

/// What is deeper than any data of theirs, or holds itself, is none.
bool CallForms::is_plain_container(ValueId id, int depth) {
  constexpr int deepest = 16;
  const auto [known, fresh] = plain_.try_emplace(id, false);
  if (!fresh) return known->second;
  bool all = depth < deepest;
  if (all) values_.each_operand(id, [&](ValueId item) { all = all && is_plain(item, depth + 1); });
  return plain_[id] = all;
}

/// {'_metadata': …}, which is all that a state dict has beside its items.
bool CallForms::is_metadata(ValueId state) const {
  if (values_.kind(state) != ValueKind::dict) return false;
  const auto pairs = mapping_pairs(values_, state);
  return std::all_of(pairs.begin(), pairs.end(), [&](const MappingEntry& entry) {
    return values_.is_string(entry.key) && values_.text(entry.key) == "_metadata" &&
           (is_mapping(values_, entry.value) || values_.kind(entry.value) == ValueKind::none);
  });
}

/// None, or an empty dict or OrderedDict (Python 2's of an empty list).
bool CallForms::is_without_hooks(ValueId id) const {
  const auto is_empty = [&](ValueId one) { return values_.first_effect(one) == 0 && values_.items(one).empty(); };
  const ValueKind kind = values_.kind(id);
  if (kind != ValueKind::object) return kind == ValueKind::none || (kind == ValueKind::dict && is_empty(id));
  const auto arguments = call_arguments(values_, id);
  return is_mapping(values_, id) && values_.first_effect(id) == 0 &&
         std::all_of(arguments.begin(), arguments.end(),
                     [&](ValueId argument) { return values_.kind(argument) == ValueKind::list && is_empty(argument); });
}

/// None, a dict of attributes, or two of those.
bool CallForms::is_state_of_tensor(ValueId state) {
  if (values_.kind(state) == ValueKind::none) return true;
  if (values_.kind(state) == ValueKind::tuple) {
    const auto parts = values_.items(state);
    return parts.size() == 2 && std::all_of(parts.begin(), parts.end(), [&](ValueId part) {
             return values_.kind(part) != ValueKind::tuple && is_state_of_tensor(part);
           });
  }
  if (values_.kind(state) != ValueKind::dict && !is_mapping(values_, state)) return false;
  const auto pairs = mapping_pairs(values_, state);
  return std::all_of(pairs.begin(), pairs.end(), [&](const MappingEntry& entry) {
    return values_.is_string(entry.key) && !is_set_by_tensors(values_.text(entry.key)) && is_uncallable(entry.value);
  });
}

/// Attributes by their names, or those of slots in order.
bool CallForms::is_uncallable_state(ValueId state) {
  bool all = values_.kind(state) != ValueKind::object && values_.kind(state) != ValueKind::persistent;
  if (all) values_.each_operand(state, [&](ValueId item) { all = all && is_uncallable(item); });
  return all;
}

/// What raises an error where it takes the place of a method: all but functions, classes and layers.
bool CallForms::is_uncallable(ValueId id) {
  switch (values_.kind(id)) {
    case ValueKind::global:
      return is_constant(values_.module(id), values_.name(id));
    case ValueKind::extension:
      return false;
    case ValueKind::persistent:
      return class_meant(values_, id) == id;
    case ValueKind::object: {
      const ValueId type = risks_.maker(id);
      if (form_of(type) == nullptr) return false;
      const CallRisk risk = risks_.of(type);
      return risk != CallRisk::is_made_bare && risk != CallRisk::returns_first;
    }
    default:
      return true;
  }
}

/// (version, shape, dtype, order, elements[, mask, fill value]). Of objects alone, numpy asks nothing.
bool CallForms::is_state_of_array(ValueId state) {
  if (values_.kind(state) != ValueKind::tuple) return false;
  const auto parts = values_.items(state);
  const bool are_objects = parts.size() > 4 && values_.kind(parts[4]) == ValueKind::list && is_dtype_object(parts[2]);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!(i == 4 && are_objects) && !is_plain(parts[i])) return false;
  return true;
}

bool CallForms::is_dtype_object(ValueId id) const {
  if (!is_call_of(id, "numpy", "dtype")) return false;
  const auto arguments = call_arguments(values_, id);
  return !arguments.empty() && values_.is_string(arguments[0]) && lists("O4 O8 |O", values_.text(arguments[0]));
}

}  // namespace ckpt::pickle
