#include "pickle/call_policy.h"

#include <algorithm>
#include <array>

#include "model/python_names.h"
#include "pickle/known_names.h"

namespace ckpt {
namespace {

struct Risk {
  std::string_view module, name;
  CallRisk risk;
};

constexpr std::array risks{
    Risk{"_codecs", "encode", CallRisk::encodes},
    Risk{"copyreg", "__newobj__", CallRisk::makes_first},
    Risk{"copyreg", "__newobj_ex__", CallRisk::makes_first},
    Risk{"copyreg", "_reconstructor", CallRisk::makes_first},
    Risk{"numpy", "dtype", CallRisk::believes_state},
    Risk{"numpy", "ndarray", CallRisk::takes_memory},
    Risk{"numpy", "recarray", CallRisk::takes_memory},
    Risk{"numpy._core.multiarray", "dtype", CallRisk::believes_state},
    Risk{"numpy._core.multiarray", "ndarray", CallRisk::takes_memory},
    Risk{"numpy._core.records", "recarray", CallRisk::takes_memory},
    Risk{"numpy._core._internal", "_convert_to_stringdtype_kwargs", CallRisk::has_no_state},
    Risk{"numpy.core.multiarray", "dtype", CallRisk::believes_state},
    Risk{"numpy.core.multiarray", "ndarray", CallRisk::takes_memory},
    Risk{"numpy.core.records", "recarray", CallRisk::takes_memory},
    Risk{"numpy.rec", "recarray", CallRisk::takes_memory},
    Risk{"torch._tensor", "_rebuild_from_type", CallRisk::calls_first},
    Risk{"torch._tensor", "_rebuild_from_type_v2", CallRisk::calls_first},
    Risk{"torch.jit._pickle", "restore_type_tag", CallRisk::returns_first},
    Risk{"torch.tensor", "_rebuild_from_type", CallRisk::calls_first},
};

std::string_view first_component(std::string_view dotted) { return dotted.substr(0, dotted.find('.')); }

}  // namespace

CallRisk call_risk(std::string_view python_module, std::string_view python_name) {
  const auto [module, name] = to_python3(python_module, python_name);
  if (!is_known_name(module, name)) return CallRisk::none;
  const auto* const found = std::find_if(
      risks.begin(), risks.end(),
      [&, &module = module, &name = name](const Risk& risk) { return risk.name == name && risk.module == module; });
  if (found != risks.end()) return found->risk;
  if (name == "slice" || name == "object") return CallRisk::none;
  if (module == "builtins" || module == "collections") return CallRisk::iterates;
  if (module == "numpy.dtypes") return CallRisk::has_no_state;
  if (module == "torch.nn.functional" || module == "torch._C._nn") return CallRisk::is_not_called;
  return is_instance_class(module, name) ? CallRisk::is_made_bare : CallRisk::none;
}

bool is_plain_base(std::string_view module) { return module == "builtins" || module == "__builtin__"; }

bool is_rebuilt_by(std::string_view module) {
  return module == "torch._utils" || module == "torch.nested._internal.nested_tensor";
}

bool takes_addresses(std::string_view module) {
  const std::string_view package = first_component(module);
  return package == "torch" || package == "numpy";
}

bool passes_keywords(std::string_view module, std::string_view name) {
  return name == "__newobj_ex__" && call_risk(module, name) == CallRisk::makes_first;
}

bool gives_memory(std::string_view text) {
  return text == "__array_interface__" || text == "__array_struct__" || text == "__cuda_array_interface__";
}

}  // namespace ckpt
