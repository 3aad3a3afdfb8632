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

/// What torch.Tensor gives more than a place to keep when it is set (tests/interop/verdicts.py asks it).
bool is_set_by_tensors(std::string_view attribute) {
  return attribute.starts_with("__") ||
         lists(
             "real imag data grad _grad _grad_fn grad_dtype names requires_grad retains_grad volatile _backward_hooks "
             "_post_accumulate_grad_hooks",
             attribute);
}

/// What is in a container; of a call its arguments from `begin` on, and what is done to what it makes.
template <class Use>
void each_given(const ValueGraph& values, ValueId id, std::size_t begin, Use use) {
  if (values.kind(id) != ValueKind::object) return values.each_operand(id, use);
  const auto arguments = call_arguments(values, id);
  for (const ValueId argument : arguments.subspan(std::min(begin, arguments.size()))) use(argument);
  for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next)
    for (const ValueId item : values.items(values.effect(handle))) use(item);
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
      if (kind == ValueKind::persistent) return stands_for_storage(values_, argument);
      return kind != ValueKind::global && kind != ValueKind::extension &&
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
    case 'L':
      return is_constant_of_torch(argument) || is_call_of(argument, "torch", "_get_layout");
    case 'C':
      return values_.is_string(argument) && lists("latin-1 latin1 utf-8 utf8 ascii", values_.text(argument));
    case 'B':
      return is_named(argument, "Tensor") || is_named(argument, "Parameter");
    case 'Q':
      return is_quantiser(argument);
    case 'D':
      return is_plain(argument);
    case 'M': {
      const ValueId metadata = without_type_tag(values_, argument);  // TorchScript says a dict's type
      return kind == ValueKind::none || (values_.kind(metadata) == ValueKind::dict && is_plain(metadata));
    }
    case 'U':
      return kind == ValueKind::tuple && is_plain(argument, Tensors::too);
    case 'S':
      return is_state_of_tensor(argument);
    default:
      return true;
  }
}

/// torch.float32, torch.strided, torch.channels_last
bool CallForms::is_constant_of_torch(ValueId id) const {
  if (values_.kind(id) != ValueKind::global) return false;
  const std::string_view name = values_.name(id);
  return values_.module(id) == "torch" && !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
         !lists("device dtype layout memory_format qscheme", name);
}

/// (torch.per_tensor_affine, scale, zero point), (torch.per_channel_affine, scales, zero points, axis)
bool CallForms::is_quantiser(ValueId id) {
  if (values_.kind(id) != ValueKind::tuple) return false;
  const auto parts = values_.items(id);
  return std::all_of(parts.begin(), parts.end(),
                     [&](ValueId part) { return is_constant_of_torch(part) || is_plain(part, Tensors::too); });
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

bool CallForms::is_plain(ValueId id, Tensors tensors, int depth) {
  switch (values_.kind(id)) {
    case ValueKind::global:
    case ValueKind::extension:
      return false;
    case ValueKind::persistent:
      return stands_for_storage(values_, id);
    case ValueKind::object:
      if (is_call_of(id, "numpy", plain_of_numpy)) return holds_plain(id, tensors, depth);
      if (is_call_of(id, "torch", "")) return tensors == Tensors::too;
      return is_bytes(id) || callable(values_, id).second == "Size";
    case ValueKind::list:
    case ValueKind::tuple:
    case ValueKind::dict:
    case ValueKind::set:
    case ValueKind::frozenset:
      return holds_plain(id, tensors, depth);
    default:
      return true;
  }
}

/// What is deeper than any data of theirs, or holds itself, does not. (numpy's classes and functions stand in calls.)
bool CallForms::holds_plain(ValueId id, Tensors tensors, int depth) {
  constexpr int deepest = 32;
  return once(tensors == Tensors::too ? plain_or_tensors_ : plain_, id, false, [&] {
    bool all = depth < deepest;
    const bool is_call = values_.kind(id) == ValueKind::object;
    const auto look_at = [&](ValueId item) {
      const bool is_of_numpy =
          is_call && values_.kind(item) == ValueKind::global && is_in(values_.module(item), "numpy");
      all = all && (is_of_numpy || is_plain(item, tensors, depth + 1));
    };
    if (all) each_given(values_, id, 0, look_at);
    return all;
  });
}

/// {'_metadata': …}, which is all that a state dict has beside its items.
bool CallForms::is_metadata(ValueId state) {
  if (values_.kind(state) != ValueKind::dict) return false;
  return once(metadata_, state, false, [&] {
    return all_pairs(state, [&](const MappingEntry& entry) {
      return values_.is_string(entry.key, "_metadata") &&
             (is_mapping(values_, entry.value) || values_.kind(entry.value) == ValueKind::none);
    });
  });
}

/// A dict, whose "state" is one too, or a tuple that begins with it, or is of its parts: an array of records would
/// answer as well where numpy asks for a "pos".
bool CallForms::is_state_of_generator(ValueId state) {
  const auto has_dicts = [&](ValueId id) {
    const ValueKind kind = values_.kind(id);
    return kind != ValueKind::object && (kind != ValueKind::dict || all_pairs(id, [&](const MappingEntry& entry) {
                                           return !values_.is_string(entry.key, "state") ||
                                                  values_.kind(entry.value) != ValueKind::object;
                                         }));
  };
  std::vector<ValueId> parts;
  const ValueKind kind = values_.kind(state);
  if (kind == ValueKind::tuple || kind == ValueKind::list)
    values_.each_operand(state, [&](ValueId part) { parts.push_back(part); });
  return has_dicts(state) && (parts.empty() || has_dicts(parts[0])) && are_data_of_generator(state);
}

/// Where numpy goes on in its buffers, it does not look whether that is in them: ('MT19937', numbers, place[, …]), and
/// "pos" and "buffer_pos" in dicts, among other data.
bool CallForms::are_data_of_generator(ValueId state) {
  constexpr std::int64_t most_of_twister = 624, most_of_philox = 4;
  const auto is_place = [&](ValueId id, std::int64_t most) {
    return values_.kind(id) == ValueKind::integer && values_.integer(id) >= 0 && values_.integer(id) <= most;
  };
  const ValueKind kind = values_.kind(state);
  if (kind != ValueKind::dict && kind != ValueKind::tuple && kind != ValueKind::list) return true;
  return once(of_generators_, state, true, [&] {
    if (kind == ValueKind::dict)
      return all_pairs(state, [&](const MappingEntry& entry) {
        if (!values_.is_string(entry.key)) return false;  // one of numpy's texts is equal to it
        if (values_.is_string(entry.key, "pos")) return is_place(entry.value, most_of_twister);
        if (values_.is_string(entry.key, "buffer_pos")) return is_place(entry.value, most_of_philox);
        return are_data_of_generator(entry.value);
      });
    std::vector<ValueId> parts;
    values_.each_operand(state, [&](ValueId part) { parts.push_back(part); });
    const bool is_named = parts.size() > 2 && values_.is_string(parts[0]);
    if (parts.size() > 2 && values_.kind(parts[0]) == ValueKind::object) return false;
    return (!is_named || is_place(parts[2], most_of_twister)) &&
           std::all_of(parts.begin(), parts.end(), [&](ValueId part) { return are_data_of_generator(part); });
  });
}

template <class Holds>
bool CallForms::all_pairs(ValueId dict, Holds holds) const {
  const auto pairs = mapping_pairs(values_, dict);
  return std::all_of(pairs.begin(), pairs.end(), holds);
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

bool CallForms::is_named(ValueId type, std::string_view name) const {
  return values_.kind(type) == ValueKind::global && values_.name(type) == name;
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
  if (!is_dict(state)) return false;
  return once(states_, state, false, [&] {
    return all_pairs(state, [&](const MappingEntry& entry) {
      return values_.is_string(entry.key) && !is_set_by_tensors(values_.text(entry.key)) && is_uncallable(entry.value);
    });
  });
}

/// A dict, or a mapping that is not made of any other: all its pairs are to be seen.
bool CallForms::is_dict(ValueId id) const {
  if (values_.kind(id) != ValueKind::object) return values_.kind(id) == ValueKind::dict;
  return is_mapping(values_, id) && call_arguments(values_, id).empty();
}

/// Attributes by their names, or those of slots in order.
bool CallForms::is_uncallable_state(ValueId state) {
  const ValueKind kind = values_.kind(state);
  return kind != ValueKind::object && kind != ValueKind::persistent && is_uncallable(state);
}

/// (hooks, number[, (hooks, …)]): of its kind the largest number is kept.
bool CallForms::is_state_of_handle(ValueId state) const {
  const auto are_hooks = [&](ValueId id) { return values_.kind(id) == ValueKind::none || is_dict(id); };
  if (values_.kind(state) != ValueKind::tuple) return false;
  const auto parts = values_.items(state);
  if (parts.size() < 2 || parts.size() > 3 || !are_hooks(parts[0])) return false;
  if (values_.kind(parts[1]) != ValueKind::integer || values_.integer(parts[1]) < 0) return false;
  if (parts.size() == 2 || values_.kind(parts[2]) == ValueKind::none) return true;
  const auto more = values_.items(parts[2]);
  return values_.kind(parts[2]) == ValueKind::tuple && std::all_of(more.begin(), more.end(), are_hooks);
}

/// What raises an error where it takes the place of a method, and so does all that is in it: no functions, classes and
/// layers. (torch's and numpy's calls have them in their arguments; what tensors and arrays hold is judged with those.)
bool CallForms::is_uncallable(ValueId id, int depth) {
  constexpr int deepest = 64;
  switch (values_.kind(id)) {
    case ValueKind::global:
      return is_constant_of_torch(id);
    case ValueKind::extension:
      return false;
    case ValueKind::persistent:
      return stands_for_storage(values_, id);
    case ValueKind::object: {
      const ValueId type = risks_.maker(id);
      const CallRisk risk = risks_.of(type);
      if (form_of(type) == nullptr || risk == CallRisk::is_made_bare || risk == CallRisk::returns_first) return false;
      if (is_call_of(id, "torch", "") || is_call_of(id, "numpy", plain_of_numpy)) return true;
      break;
    }
    case ValueKind::list:
    case ValueKind::tuple:
    case ValueKind::dict:
    case ValueKind::set:
    case ValueKind::frozenset:
      break;
    default:
      return true;
  }
  // copyreg's functions are told a class, and one of them a base of Python's behind it.
  std::size_t told = 0;
  if (values_.kind(id) == ValueKind::object)
    if (const ValueId called = values_.items(id)[0]; risks_.of(called) == CallRisk::makes_first)
      told = is_named(called, "_reconstructor") ? 2 : 1;
  // What it is found in again is looked at already.
  return once(uncallable_, id, true, [&] {
    bool all = depth < deepest;
    if (all) each_given(values_, id, told, [&](ValueId item) { all = all && is_uncallable(item, depth + 1); });
    return all;
  });
}

/// (version, shape, dtype, order, elements[, mask, fill value]). Of objects alone, numpy asks nothing.
bool CallForms::is_state_of_array(ValueId state) {
  if (values_.kind(state) != ValueKind::tuple) return false;
  const auto parts = values_.items(state);
  constexpr std::size_t most_parts = 7;
  if (parts.size() > most_parts) return false;
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
