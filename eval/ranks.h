#pragma once

#include <string>

#include "ckpt/eval.h"

namespace ckpt::eval {

/// What another rank needs of a result to add it to its own: from this program to itself, and to no other version.
[[nodiscard]] std::string packed(const Result& result);

/// The result that was packed, as far as metrics/join.h asks for it. Throws Error (corrupt).
[[nodiscard]] Result unpacked(const std::string& bytes);

}  // namespace ckpt::eval
