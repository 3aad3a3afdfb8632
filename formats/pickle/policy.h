#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/error.h"

namespace ckpt {

/// The module under which a code of copyreg's extension registry is judged; its name is the code in decimal.
inline constexpr std::string_view extension_module = "copyreg.extension";

/// What policy says of a name that a pickle would import, by the name alone: nothing is looked up.
///
/// known: on the allow-list (pickle/known_names.cpp), under its Python 2 name too.
/// dangerous: any other name of a Python's standard library, of torch or numpy, or of a package that runs code or
/// talks to a network (pickle/dangerous_modules.cpp); extension codes; names that reach through a class or module for
/// another ("OrderedDict.__init__.__globals__", a third party's "os"); names that no import statement could spell.
/// unknown: everything else, `__main__` and TorchScript's `__torch__` included.
/// torch.storage._load_from_bytes is dangerous by these rules: the pickle that it loads has not been judged. Where its
/// bytes were opened and judged as well, the reader says so (pickled_tensors/nested_files.h).
Verdict judge_global(std::string_view module, std::string_view name);

/// The dangerous ones of `globals`: the first few, and how many more there are. Empty where there are none.
std::string danger_names(const std::vector<GlobalUse>& globals);

/// Puts the dangerous ones of `globals` before what the error says. A pickle that breaks off is refused here, but
/// Python would run what comes before the break: whoever reads the refusal must hear of it.
void name_dangers(Error& error, const std::vector<GlobalUse>& globals);

}  // namespace ckpt
