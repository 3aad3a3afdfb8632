// A table: how what checkpoints hold is pickled, by Python's copyreg and pickle, numpy 1 and 2, and torch 0.1 to 2.12.
#include "pickle/call_forms.h"

#include <algorithm>
#include <iterator>

#include "model/calls.h"
#include "model/python_names.h"
#include "pickle/call_policy.h"
#include "pickle/known_names.h"
#include "pickle/name_lists.h"

namespace ckpt::pickle {

/// `by`: REDUCE (R), NEWOBJ (N). `arguments`, a letter each, those behind | may be left out, one before + comes as
/// often as it likes:
///   i  whole number or bool    f  number or None         s  text        y  bytes        z  text or bytes
///   T  shape                   p  storage                q  name        c  name or None  k  name or text
///   t  tensor of torch's       n  tensor or None         v  array of numpy's     d  dtype of numpy's
///   h  no hooks                L  layout              Q  how a tensor is quantised
///   C  a codec that takes no more time than there are letters
///   B  torch.Tensor or Parameter: of other classes of tensors nobody has looked at what they do with their attributes
///   D  plain data: numbers, texts, arrays, and containers of those, of which M is a dict, or None
///   U  tuple of such data and tensors, which functions take apart
///   S  what tensors are given as a state                 *  anything, which is looked at by itself
/// `then`: what may be done to what it makes: APPEND (a), SETITEM (s), ADDITEMS (e), BUILD with a state dict's metadata
/// (m), with plain data (d), which may be the state of a generator of random numbers (g), with an array's elements (v),
/// with attributes that cannot be called (o), with a handle of hooks (x), with anything (b).
struct CallForm {
  std::string_view package, name, by, arguments, then;
};

namespace {

// clang-format off
constexpr CallForm forms[] = {
    {"_codecs", "encode", "R", "ss", ""},
    {"argparse", "Namespace", "RN", "", "b"},
    {"builtins", "bytearray", "R", "|zC", ""},
    {"builtins", "bytes", "R", "|zC", ""},
    {"builtins", "complex", "R", "ff", ""},
    {"builtins", "dict", "RN", "|*", "s"},
    {"builtins", "frozenset", "R", "|*", ""},
    {"builtins", "list", "RN", "|*", "a"},
    {"builtins", "object", "RN", "", ""},
    {"builtins", "range", "R", "iii", ""},
    {"builtins", "set", "R", "|*", "e"},
    {"builtins", "slice", "R", "DDD", ""},
    {"builtins", "tuple", "RN", "|*", ""},
    {"collections", "Counter", "RN", "|*", "sm"},
    {"collections", "OrderedDict", "RN", "|*", "sm"},
    {"collections", "defaultdict", "RN", "|c*", "sm"},
    {"collections", "deque", "RN", "|*f", "a"},
    {"datetime", "date", "RN", "z", ""},
    {"datetime", "datetime", "RN", "z|*", ""},
    {"datetime", "time", "RN", "z|*", ""},
    {"datetime", "timedelta", "RN", "iii", ""},
    {"datetime", "timezone", "R", "*|s", ""},
    {"decimal", "Decimal", "RN", "s", ""},
    {"fractions", "Fraction", "RN", "D|i", ""},
    {"numpy", "MaskedConstant", "R", "", ""},
    {"numpy", "__RandomState_ctor", "R", "|s*", "g"},
    {"numpy", "__bit_generator_ctor", "R", "|k", "g"},
    {"numpy", "__generator_ctor", "R", "|*q", "g"},
    {"numpy", "__pyx_unpickle_SeedSequence", "R", "qi*", "d"},
    {"numpy", "__randomstate_ctor", "R", "|*q", "g"},
    {"numpy", "_convert_to_stringdtype_kwargs", "R", "|D+", ""},
    {"numpy", "_frombuffer", "R", "*dTs", ""},
    {"numpy", "_mareconstruct", "R", "qqTz", "v"},
    {"numpy", "_reconstruct", "R", "qTz", "v"},
    {"numpy", "dtype", "R", "kii", "b"},
    {"numpy", "scalar", "R", "dy", ""},
    {"pathlib", "Path", "R", "|s+", ""},
    {"pathlib", "PosixPath", "R", "|s+", ""},
    {"pathlib", "PurePath", "R", "|s+", ""},
    {"pathlib", "PurePosixPath", "R", "|s+", ""},
    {"pathlib", "PureWindowsPath", "R", "|s+", ""},
    {"pathlib", "WindowsPath", "R", "|s+", ""},
    {"torch", "_DimRange", "N", "", "o"},
    {"torch", "MEM_FORMAT_ENCODING", "R", "i", ""},
    {"torch", "OptState", "R", "i", ""},
    {"torch", "Size", "RN", "T", ""},
    {"torch", "TorchVersion", "N", "s", ""},
    {"torch", "_MEM_FORMAT_ENCODING", "R", "i", ""},
    {"torch", "_get_layout", "R", "s", ""},
    {"torch", "_get_thnn_function_backend", "R", "", ""},
    {"torch", "_rebuild_device_tensor_from_cpu_tensor", "R", "tqsi", ""},
    {"torch", "_rebuild_device_tensor_from_numpy", "R", "vqsi", ""},
    {"torch", "_rebuild_from_type", "R", "qB*S", ""},
    {"torch", "_rebuild_from_type_v2", "R", "qB*S", ""},
    {"torch", "_rebuild_hpu_tensor", "R", "vqsi", ""},
    {"torch", "_rebuild_meta_tensor_no_storage", "R", "qTTi", ""},
    {"torch", "_rebuild_mlc_tensor", "R", "vqsi", ""},
    {"torch", "_rebuild_nested_tensor", "R", "ttt|t", ""},
    {"torch", "_rebuild_parameter", "R", "tih", ""},
    {"torch", "_rebuild_parameter_v2", "R", "tih|S", ""},
    {"torch", "_rebuild_parameter_with_state", "R", "tihS", ""},
    {"torch", "_rebuild_qtensor", "R", "piTTQih", ""},
    {"torch", "_rebuild_sparse_csr_tensor", "R", "LU", ""},
    {"torch", "_rebuild_sparse_tensor", "R", "LU", ""},
    {"torch", "_rebuild_tensor", "R", "piTT", ""},
    {"torch", "_rebuild_tensor_v2", "R", "piTTih|M", ""},
    {"torch", "_rebuild_tensor_v3", "R", "piTTihq|M", ""},
    {"torch", "_rebuild_xla_tensor", "R", "vqsi", ""},
    {"torch", "build_boollist", "R", "*", ""},
    {"torch", "build_doublelist", "R", "*", ""},
    {"torch", "build_intlist", "R", "*", ""},
    {"torch", "build_tensor_from_id", "R", "i", ""},
    {"torch", "build_tensorlist", "R", "*", ""},
    {"torch", "device", "R", "s|i", ""},
    {"torch", "restore_type_tag", "R", "*s", ""},
    {"torch.distributed", "BytesStorageMetadata", "N", "", "o"},
    {"torch.distributed", "ChunkStorageMetadata", "N", "", "o"},
    {"torch.distributed", "Metadata", "N", "", "o"},
    {"torch.distributed", "MetadataIndex", "N", "", "o"},
    {"torch.distributed", "StorageMeta", "N", "", "o"},
    {"torch.distributed", "TensorProperties", "N", "", "o"},
    {"torch.distributed", "TensorStorageMetadata", "N", "", "o"},
    {"torch.distributed", "_StorageInfo", "N", "", "o"},
    {"torch.nn.utils.rnn", "PackedSequence", "N", "tt|nn", ""},
    {"torch.utils.hooks", "RemovableHandle", "N", "", "x"},
    {"types", "SimpleNamespace", "RN", "", "b"},
    {"uuid", "SafeUUID", "R", "f", ""},
    {"uuid", "UUID", "N", "", "d"},
};
/// Layers, losses, optimizers.
constexpr CallForm bare{"", "", "N", "", "b"};
// clang-format on

}  // namespace

const CallForm* CallForms::form_of(ValueId name) {
  if (values_.kind(name) != ValueKind::global) return nullptr;
  const std::string_view python_module = values_.module(name), python_name = values_.name(name);
  const auto [found, fresh] = forms_.try_emplace(name_key(values_, name), nullptr);
  if (!fresh) return found->second;
  const auto [module, called] = to_python3(python_module, python_name);
  const auto* const form =
      std::find_if(std::begin(forms), std::end(forms), [&, &module = module, &called = called](const CallForm& one) {
        return one.name == called && is_in(module, one.package);
      });
  if (form != std::end(forms)) return found->second = form;
  return found->second = is_instance_class(module, called) ? &bare : nullptr;
}

bool CallForms::fits(ValueId object) {
  const ValueId callable = class_meant(values_, values_.items(object)[0]);
  if (const CallForm* const form = form_of(callable)) return call_fits(*form, object);
  const ValueId made = risks_.maker(object);
  if (made == callable || values_.call(object) != CallKind::reduce) return false;
  const CallForm* const form = form_of(made);
  return form != nullptr && made_by_function_fits(*form, object) && effects_fit(form->then, object);
}

/// __newobj__(class, …); _reconstructor(class, object, None), or a base of Python's and a value of it.
bool CallForms::made_by_function_fits(const CallForm& form, ValueId object) {
  const auto arguments = call_arguments(values_, object);
  const std::string_view function = values_.name(class_meant(values_, values_.items(object)[0]));
  if (form.by.find('N') == std::string_view::npos) return false;
  if (function == "__newobj__") return arguments_fit(form.arguments, arguments.subspan(1));
  return function == "_reconstructor" && arguments.size() == 3 && values_.kind(arguments[1]) == ValueKind::global &&
         is_plain_base(values_.module(arguments[1])) &&
         arguments_fit(is_named(arguments[1], "tuple") ? "U" : "D", arguments.subspan(2));
}

bool CallForms::call_fits(const CallForm& form, ValueId object) {
  const CallKind call = values_.call(object);
  const char by = call == CallKind::reduce ? 'R' : call == CallKind::newobj ? 'N' : ' ';
  if (form.by.find(by) == std::string_view::npos || values_.kind(values_.items(object)[1]) != ValueKind::tuple)
    return false;
  const auto arguments = call_arguments(values_, object);
  if (!arguments_fit(form.arguments, arguments) || !effects_fit(form.then, object)) return false;
  if (!form.name.starts_with("_rebuild_from_type")) return true;
  const CallForm* const given = form_of(arguments[0]);
  return given != nullptr && values_.kind(arguments[2]) == ValueKind::tuple &&
         arguments_fit(given->arguments, values_.items(arguments[2]));
}

bool CallForms::effects_fit(std::string_view allowed, ValueId object) {
  const auto may = [&](char what) { return allowed.find(what) != std::string_view::npos; };
  for (auto handle = values_.first_effect(object); handle != 0; handle = values_.effect(handle).next) {
    const Effect& effect = values_.effect(handle);
    switch (effect.kind) {
      case EffectKind::append:
        if (!may('a')) return false;
        break;
      case EffectKind::set_items:
        if (!may('s')) return false;
        break;
      case EffectKind::add_items:
        if (!may('e')) return false;
        break;
      case EffectKind::build: {
        const ValueId state = values_.items(effect)[0];
        const bool fits = may('b') || (may('d') && is_plain(state)) || (may('m') && is_metadata(state)) ||
                          (may('g') && is_plain(state) && is_state_of_generator(state)) ||
                          (may('v') && is_state_of_array(state)) || (may('x') && is_state_of_handle(state)) ||
                          (may('o') && is_uncallable_state(state));
        if (!fits) return false;
        break;
      }
    }
  }
  return true;
}

bool CallForms::arguments_fit(std::string_view pattern, std::span<const ValueId> arguments) {
  bool may_end = false;
  std::size_t next = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '|') {
      may_end = true;
      continue;
    }
    if (i + 1 < pattern.size() && pattern[i + 1] == '+')
      return std::all_of(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end(),
                         [&](ValueId argument) { return argument_fits(pattern[i], argument); });
    if (next == arguments.size()) return may_end;
    if (!argument_fits(pattern[i], arguments[next++])) return false;
  }
  return next == arguments.size();
}

}  // namespace ckpt::pickle
