#pragma once

#include <string>
#include <string_view>

namespace ckpt {

/// A member's name for messages: in quotes, cut where long.
std::string quoted_name(std::string_view name);

}  // namespace ckpt
