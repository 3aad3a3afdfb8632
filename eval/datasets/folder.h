#pragma once

#include <string_view>

#include "ckpt/pictures.h"

namespace ckpt::eval {

/// Whether a name ends in .png, in upper or lower case.
bool is_picture_name(std::string_view name);

}  // namespace ckpt::eval
