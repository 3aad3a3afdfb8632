#include "pickle/policy.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/python_names.h"
#include "pickle/dangerous_modules.h"
#include "pickle/known_names.h"
#include "pickle/name_lists.h"

namespace ckpt {
namespace {

std::string_view first_component(std::string_view dotted) { return dotted.substr(0, dotted.find('.')); }

template <class Predicate>
bool any_component(std::string_view dotted, Predicate holds) {
  while (true) {
    const std::size_t dot = dotted.find('.');
    if (holds(dotted.substr(0, dot))) return true;
    if (dot == std::string_view::npos) return false;
    dotted.remove_prefix(dot + 1);
  }
}

/// An identifier as Python spells it; bytes past ASCII pass, for names in other scripts.
bool is_identifier(std::string_view text) {
  if (text.empty() || (text.front() >= '0' && text.front() <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

bool is_spelt_right(std::string_view dotted) {
  return !any_component(dotted, [](std::string_view part) { return !is_identifier(part); });
}

/// Names under which a module of anybody's holds what it imported, and from which everything can be reached.
bool is_gateway(std::string_view name) {
  constexpr std::array<std::string_view, 32> gateways{
      "CodeType",      "FunctionType", "Popen",      "__builtin__",
      "__builtins__",  "__import__",   "attrgetter", "builtins",
      "check_call",    "check_output", "ctypes",     "eval",
      "exec",          "exec_",        "execfile",   "getattr",
      "import_module", "importlib",    "itemgetter", "load_state_dict_from_url",
      "methodcaller",  "nt",           "os",         "pickle",
      "popen",         "posix",        "run_module", "run_path",
      "runpy",         "subprocess",   "sys",        "system"};
  static_assert(std::is_sorted(gateways.begin(), gateways.end()));
  return std::binary_search(gateways.begin(), gateways.end(), name);
}

bool is_dangerous_top_level(std::string_view module) {
  return in_standard_library(module) || is_dangerous_package(module);
}

/// A dotted name (protocol 4) that leaves its class: by an attribute of Python's own, or to a module.
bool reaches_out(std::string_view name) {
  if (any_component(name, is_gateway)) return true;
  if (name.find('.') == std::string_view::npos) return false;
  constexpr std::string_view aliases = "F nn np th";  // of torch and numpy
  return any_component(name, [&](std::string_view part) {
    const bool may_be_module = (part.front() >= 'a' && part.front() <= 'z') || part.front() == '_';
    return (part.size() > 4 && part.starts_with("__") && part.ends_with("__")) ||
           (may_be_module && is_dangerous_top_level(part)) || lists(aliases, part);
  });
}

bool is_dangerous_module(std::string_view module) { return is_dangerous_top_level(first_component(module)); }

}  // namespace

Verdict judge_global(std::string_view module, std::string_view name) {
  const auto [module3, name3] = to_python3(module, name);
  if (is_known_name(module3, name3)) return Verdict::known;
  if (is_dangerous_module(module) || is_dangerous_module(module3)) return Verdict::dangerous;
  if (!is_spelt_right(module) || !is_spelt_right(name)) return Verdict::dangerous;
  return reaches_out(name) ? Verdict::dangerous : Verdict::unknown;
}

std::string danger_names(const std::vector<GlobalUse>& globals) {
  constexpr std::size_t most = 3;
  std::string names;
  std::size_t count = 0;
  // Those that are dangerous by their names say most; then known ones that are used as no pickler uses them.
  for (const bool by_name : {true, false})
    for (const GlobalUse& global : globals) {
      if (global.verdict != Verdict::dangerous) continue;
      if ((judge_global(global.module, global.name) == Verdict::dangerous) != by_name || ++count > most) continue;
      names += (names.empty() ? "" : ", ") + global.module + "." + global.name;
    }
  if (count > most) names += " and " + std::to_string(count - most) + " more";
  return names;
}

void name_dangers(Error& error, const std::vector<GlobalUse>& globals) {
  const std::string names = danger_names(globals);
  const std::string told = "a pickle that calls for " + names + " (dangerous)";
  const bool is_told = std::string_view(error.what()).find(told) != std::string_view::npos;
  if (!names.empty() && !is_told) error.within(told);
}

}  // namespace ckpt
