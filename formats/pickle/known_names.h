#pragma once

#include <string_view>

namespace ckpt {

/// Whether the allow-list holds this name; `module` as Python 3 calls it (see model/python_names.h).
bool is_known_name(std::string_view module, std::string_view name);

/// Whether it is a known class of which a checkpoint holds instances, as it holds layers and optimizers.
bool is_instance_class(std::string_view module, std::string_view name);

}  // namespace ckpt
