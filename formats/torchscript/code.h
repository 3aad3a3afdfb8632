#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

/// What the code of an archive says of its classes, read as text: libtorch prints it, and always in the same way.
namespace ckpt::torchscript {

struct ScriptClass {
  bool is_module = false;
  std::set<std::string> parameters, buffers;
  bool names_buffers = false;  ///< torch before 1.6 did not
};

/// By qualified name: "__torch__.torch.nn.modules.linear.Linear". Those that a pickle names are there from the start;
/// of others nothing is kept.
using ScriptClasses = std::map<std::string, ScriptClass>;

/// Reads what one file, such as code/__torch__/torch/nn/modules/linear.py, says of `classes`. `names_left` is how many
/// parameters and buffers they may yet name. Throws Error (limit_exceeded).
void read_classes(std::string_view file, std::string_view code, ScriptClasses& classes, std::uint64_t& names_left);

/// The devices that it names, torch.device("cuda:0"), or the first few where they are many.
std::set<std::string> named_devices(std::string_view code);

}  // namespace ckpt::torchscript
