#include "scan/code_members.h"

#include <array>

#include "suffix.h"

namespace ckpt::scanning {
namespace {

/// TorchScript of a class that bears a name under which policy may know another; before PyTorch 1.3, of any.
constexpr Code script{"TorchScript", Verdict::unknown};
/// Python, run when the archive's pickles ask for a module of its name: known names are none there.
constexpr Code package{"torch.package", Verdict::dangerous};
/// Sizes of tensors stand there as expressions, which torch.export.load() has sympy evaluate as Python.
constexpr Code exported{"torch.export", Verdict::unknown};
/// A library, loaded into the process, or what it is compiled from, and the command that does.
constexpr Code compiled{"AOTInductor", Verdict::dangerous};

/// What stands behind the archive's root; torch.export wrote archives without one.
std::string_view behind_root(std::string_view name) { return name.substr(name.find('/') + 1); }

bool is_at_root(std::string_view name, std::string_view path) {
  return equal_in_any_case(name, path) || equal_in_any_case(behind_root(name), path);
}

bool is_below(std::string_view name, std::string_view folder) {
  const auto begins = [&](std::string_view text) { return equal_in_any_case(text.substr(0, folder.size()), folder); };
  return begins(name) || begins(behind_root(name));
}

/// What AOTInductor's loader unpacks beside the folder of its own, by how the names begin and end.
bool is_compiled_constant(std::string_view name) {
  constexpr std::array<std::string_view, 5> suffixes{".so", ".pyd", ".cpp", ".o", ".obj"};
  return is_below(name, "data/constants") && !suffix_among(name, suffixes).empty();
}

/// torch.jit.save keeps the code of all classes below `__torch__`. Code elsewhere is run all the same, where the pickle
/// calls for a class of that name.
bool is_script_of_another_name(std::string_view name) {
  constexpr std::string_view folder = "code/";
  if (name.find('/') == std::string_view::npos) return false;
  const std::string_view inside = behind_root(name);
  if (!equal_in_any_case(inside.substr(0, folder.size()), folder)) return false;
  const std::string_view path = inside.substr(folder.size());
  const bool is_own = path.starts_with("__torch__/") || path == "__torch__.py";
  return !is_own && ends_with_in_any_case(path, ".py");
}

}  // namespace

void CodeMembers::meet(std::string_view name) {
  // What libtorch asks for in any case; before PyTorch 1.3, the one or the other.
  is_script_ |= ends_with_in_any_case(name, "/constants.pkl") || ends_with_in_any_case(name, "/model.json");
  // PackageImporter reads folders, too, and one may lie anywhere in an archive.
  constexpr std::string_view extern_modules = "/.data/extern_modules";
  is_package_ |= ends_with_in_any_case(name, extern_modules) || equal_in_any_case(name, extern_modules.substr(1));
  is_export_ |= is_at_root(name, "archive_format") || is_at_root(name, "serialized_exported_program.json");
}

const Code* CodeMembers::find_unpacked(std::string_view name) const {
  return is_package_ && ends_with_in_any_case(name, ".py") ? &package : nullptr;
}

const Code* CodeMembers::find(std::string_view name) const {
  if (is_script_ && (is_script_of_another_name(name) || is_at_root(name, "model.json"))) return &script;
  if (const Code* const code = find_unpacked(name)) return code;
  if (is_below(name, "data/aotinductor/") || is_compiled_constant(name)) return &compiled;
  const bool is_program = is_below(name, "models/") || is_at_root(name, "serialized_exported_program.json");
  return is_export_ && is_program ? &exported : nullptr;
}

}  // namespace ckpt::scanning
