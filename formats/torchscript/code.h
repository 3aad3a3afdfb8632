#pragma once

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

/// By qualified name: "__torch__.torch.nn.modules.linear.Linear".
using ScriptClasses = std::map<std::string, ScriptClass>;

/// Adds the classes of one file, such as code/__torch__/torch/nn/modules/linear.py.
void add_classes(std::string_view file, std::string_view code, ScriptClasses& classes);

/// The devices that it names: torch.device("cuda:0").
std::set<std::string> named_devices(std::string_view code);

}  // namespace ckpt::torchscript
