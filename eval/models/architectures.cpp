#include <algorithm>

#include "ckpt/error.h"
#include "models/architecture.h"

namespace ckpt::eval {

std::span<const Architecture> architectures() {
  static const Architecture table[] = {fnn, captcha_resnet, foonet, net, mlp};
  return table;
}

std::string architecture_names() {
  std::string names;
  for (const Architecture& architecture : architectures()) names += std::string(architecture.name) + ", ";
  return names + "torchscript";
}

const Architecture& find_architecture(std::string_view name) {
  const auto all = architectures();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Architecture& a) { return a.name == name; });
  if (found == all.end())
    throw Error(ErrorCode::invalid_argument, "no architecture is called '" + std::string(name) + "'")
        .expected("auto, " + architecture_names());
  return *found;
}

}  // namespace ckpt::eval
