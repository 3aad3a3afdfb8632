#include "pickle/call_policy.h"

#include <algorithm>
#include <array>

#include "model/python_names.h"
#include "pickle/known_names.h"
#include "pickle/name_lists.h"

namespace ckpt {
namespace {

struct Risk {
  std::string_view module, name;
  CallRisk risk;
};

constexpr std::array risks{
    Risk{"_codecs", "encode", CallRisk::encodes},
    Risk{"builtins", "object", CallRisk::none},
    Risk{"builtins", "slice", CallRisk::none},
    Risk{"builtins", "str", CallRisk::is_not_called},
    Risk{"copyreg", "__newobj__", CallRisk::makes_first},
    Risk{"copyreg", "__newobj_ex__", CallRisk::makes_first},
    Risk{"copyreg", "_reconstructor", CallRisk::makes_first},
    Risk{"numpy", "dtype", CallRisk::believes_state},
    Risk{"numpy", "ndarray", CallRisk::takes_memory},
    Risk{"numpy", "recarray", CallRisk::takes_memory},
    Risk{"numpy._core._internal", "_convert_to_stringdtype_kwargs", CallRisk::has_no_state},
    Risk{"numpy._core.multiarray", "_reconstruct", CallRisk::makes_array},
    Risk{"numpy._core.multiarray", "dtype", CallRisk::believes_state},
    Risk{"numpy._core.multiarray", "ndarray", CallRisk::takes_memory},
    Risk{"numpy._core.multiarray", "scalar", CallRisk::makes_scalar},
    Risk{"numpy._core.numeric", "_frombuffer", CallRisk::makes_array},
    Risk{"numpy._core.records", "recarray", CallRisk::takes_memory},
    Risk{"numpy.core.multiarray", "_reconstruct", CallRisk::makes_array},
    Risk{"numpy.core.multiarray", "dtype", CallRisk::believes_state},
    Risk{"numpy.core.multiarray", "ndarray", CallRisk::takes_memory},
    Risk{"numpy.core.multiarray", "scalar", CallRisk::makes_scalar},
    Risk{"numpy.core.numeric", "_frombuffer", CallRisk::makes_array},
    Risk{"numpy.core.records", "recarray", CallRisk::takes_memory},
    Risk{"numpy.ma.core", "MaskedConstant", CallRisk::none},
    Risk{"numpy.ma.core", "_mareconstruct", CallRisk::makes_array},
    Risk{"numpy.random", "__RandomState_ctor", CallRisk::makes_random},
    Risk{"numpy.random._pickle", "__bit_generator_ctor", CallRisk::makes_random},
    Risk{"numpy.random._pickle", "__generator_ctor", CallRisk::makes_random},
    Risk{"numpy.random._pickle", "__randomstate_ctor", CallRisk::makes_random},
    Risk{"numpy.random.bit_generator", "__pyx_unpickle_SeedSequence", CallRisk::none},
    Risk{"numpy.rec", "recarray", CallRisk::takes_memory},
    Risk{"torch._tensor", "_rebuild_from_type", CallRisk::calls_first},
    Risk{"torch._tensor", "_rebuild_from_type_v2", CallRisk::calls_first},
    Risk{"torch.tensor", "_rebuild_from_type", CallRisk::calls_first},
    Risk{"uuid", "UUID", CallRisk::is_made_plain},
};

/// Of which checkpoints hold functions and classes, and what those make is made otherwise.
bool holds_values(std::string_view module) {
  return is_in(module, "numpy") || module == "torch.nn.functional" || module == "torch._C._nn";
}

/// But for NULs: of the four bytes of a letter of numpy's, three are.
bool is_spelt(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;  // as most texts of a pickle are
  std::size_t at = 0;
  for (const char letter : word) {
    at = text.find_first_not_of('\0', at);
    if (at == std::string_view::npos || text[at++] != letter) return false;
  }
  return text.find_first_not_of('\0', at) == std::string_view::npos;
}

}  // namespace

CallRisk call_risk(std::string_view python_module, std::string_view python_name) {
  const auto [module, name] = to_python3(python_module, python_name);
  if (!is_known_name(module, name)) return CallRisk::none;
  const auto* const found = std::find_if(
      risks.begin(), risks.end(),
      [&, &module = module, &name = name](const Risk& risk) { return risk.name == name && risk.module == module; });
  if (found != risks.end()) return found->risk;
  if (module == "builtins" || module == "collections") return CallRisk::iterates;
  if (module == "numpy.dtypes") return CallRisk::has_no_state;
  if (module == "torch.jit._pickle") return CallRisk::returns_first;
  if (holds_values(module)) return CallRisk::is_not_called;
  return is_instance_class(module, name) ? CallRisk::is_made_bare : CallRisk::none;
}

bool takes_items(std::string_view container, EffectKind how) {
  if (how == EffectKind::append) return lists("deque list", container);
  return lists(how == EffectKind::add_items ? "set" : "OrderedDict defaultdict Counter dict", container);
}

bool spells_bytes(std::string_view name) { return lists("encode bytes bytearray", name); }

bool makes_bits(std::string_view module) { return is_in(module, "numpy.random"); }

bool has_any_attributes(std::string_view module) {
  constexpr std::array<std::string_view, 12> packages{
      "argparse", "torch._dynamo", "torch.amp",          "torch.ao",    "torch.cuda.amp", "torch.distributed",
      "torch.nn", "torch.optim",   "torch.quantization", "torch.utils", "types",          "uuid"};
  if (module == "torch.nn.parameter") return false;  // tensors
  return std::any_of(packages.begin(), packages.end(),
                     [&](std::string_view package) { return is_in(module, package); });
}

bool is_plain_base(std::string_view module) { return module == "builtins" || module == "__builtin__"; }

bool is_rebuilt_by(std::string_view module) {
  return module == "torch._utils" || module == "torch.nested._internal.nested_tensor";
}

bool takes_addresses(std::string_view module) { return is_in(module, "torch") || is_in(module, "numpy"); }

bool passes_keywords(std::string_view module, std::string_view name) {
  return name == "__newobj_ex__" && call_risk(module, name) == CallRisk::makes_first;
}

std::string letters_of(std::string_view text) {
  std::string letters(text);
  std::erase(letters, '\0');
  return letters;
}

bool gives_memory(std::string_view text) {
  constexpr std::array<std::string_view, 3> words{"__array_interface__", "__array_struct__",
                                                  "__cuda_array_interface__"};
  return std::ranges::any_of(words, [&](std::string_view word) { return is_spelt(text, word); });
}

bool names_instantiator(std::string_view text) { return is_spelt(text, "_instantiator"); }

}  // namespace ckpt
