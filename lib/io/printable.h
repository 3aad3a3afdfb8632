#pragma once

#include <string>
#include <string_view>

#include "ckpt/export.h"

namespace ckpt {

/// `text` as it may be shown on a terminal: valid UTF-8 stays, control characters (C0, DEL, C1) and bytes that are no
/// UTF-8 become \xNN. Names in a file are chosen by whoever made it, and may hold escape sequences.
CKPT_API std::string printable(std::string_view text);

}  // namespace ckpt
