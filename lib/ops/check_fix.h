#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ckpt/check.h"

namespace ckpt {

/// The edit of keys that makes `keys` those of `like`: a change of prefix, or leaving out what is too much.
std::optional<CheckFix> find_fix(const std::vector<std::string_view>& keys, const std::vector<std::string_view>& like);

}  // namespace ckpt
