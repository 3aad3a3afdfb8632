#include "torchscript/code.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ckpt/error.h"
#include "torchscript/layout.h"

namespace ckpt::torchscript {
namespace {

/// "__torch__.torch.nn.modules.linear." of code/__torch__/torch/nn/modules/linear.py.
std::string qualifier(std::string_view file) {
  file.remove_prefix(code_folder.size());
  std::string name(file.substr(0, file.size() - std::string_view(".py").size()));
  for (char& c : name)
    if (c == '/') c = '.';
  return name + ".";
}

/// Calls use(line), without its newline.
template <class Use>
void each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The string that begins at the front of `text`, which is cut behind it; none where no string is there.
std::optional<std::string> take_string(std::string_view& text) {
  if (!text.starts_with('"')) return std::nullopt;
  std::string string;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return string;
    }
    if (text[i] == '\\') ++i;  // of the names that an attribute can have, only quotes and backslashes are escaped
    if (i < text.size()) string += text[i];
  }
  return std::nullopt;
}

/// The strings of `["weight", "bias", ]`.
std::set<std::string> strings_of(std::string_view list, std::uint64_t& names_left) {
  std::set<std::string> strings;
  for (std::size_t at = list.find('"'); at != std::string_view::npos; at = list.find('"')) {
    list.remove_prefix(at);
    auto string = take_string(list);
    if (!string) break;
    if (names_left-- == 0)
      throw Error(ErrorCode::limit_exceeded, "the code names more parameters and buffers than the file can have");
    strings.insert(std::move(*string));
  }
  return strings;
}

}  // namespace

void read_classes(std::string_view file, std::string_view code, ScriptClasses& classes, std::uint64_t& names_left) {
  constexpr std::string_view head = "class ", parameters = "  __parameters__ = [", buffers = "  __buffers__ = [";
  const std::string in = qualifier(file);
  constexpr std::string_view annotations = "  __annotations__[";
  ScriptClass* current = nullptr;
  each_line(code, [&](std::string_view line) {
    if (line.starts_with(head)) {
      const std::string_view name = line.substr(head.size(), line.find_first_of("(:") - head.size());
      const auto found = classes.find(in + std::string(name));
      current = found == classes.end() ? nullptr : &found->second;
      if (current != nullptr) current->is_module = line.find("(Module)") != std::string_view::npos;
    } else if (current != nullptr && line.starts_with(parameters)) {
      current->parameters = strings_of(line.substr(parameters.size()), names_left);
    } else if (current != nullptr && line.starts_with(buffers)) {
      current->buffers = strings_of(line.substr(buffers.size()), names_left);
      current->names_buffers = true;
    } else if (current != nullptr && !current->buffers.empty() && line.starts_with("  ")) {
      // `NAME : TYPE`, or `__annotations__["NAME"] = TYPE`. An Optional[Tensor] is among the buffers, and no part of
      // the state that state_dict() gives.
      std::string_view rest = line.substr(2);
      std::optional<std::string> name;
      if (line.starts_with(annotations)) {
        rest = line.substr(annotations.size());
        name = take_string(rest);
        constexpr std::string_view between = "] = ";
        if (!name || !rest.starts_with(between)) return;
        rest.remove_prefix(between.size());
      } else if (const std::size_t colon = rest.find(" : "); colon != std::string_view::npos) {
        name = std::string(rest.substr(0, colon));
        rest.remove_prefix(colon + 3);
      }
      if (name && rest != "Tensor") current->buffers.erase(*name);
    }
  });
}

std::set<std::string> named_devices(std::string_view code) {
  constexpr std::string_view call = "torch.device(";
  constexpr std::size_t most = 8;
  std::set<std::string> devices;
  for (std::size_t at = code.find(call); at != std::string_view::npos && devices.size() < most; at = code.find(call)) {
    code.remove_prefix(at + call.size());
    if (auto device = take_string(code)) devices.insert(std::move(*device));
  }
  return devices;
}

}  // namespace ckpt::torchscript
