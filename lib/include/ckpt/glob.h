#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ckpt/export.h"

namespace ckpt {

/// True where `pattern` matches the whole of `name`, as fnmatch(3) does without FNM_PATHNAME, but knows no classes
/// (`[[:alpha:]]`): `*` is any run of characters, dots too; `?` one character; `[a-z]` one of a set, `[!a-z]` one
/// outside it; `\` takes the next literally, and is itself at the end. Characters are code points. Time is at most the
/// product of the two lengths.
CKPT_API bool glob_match(std::string_view pattern, std::string_view name);

/// The pattern that matches `name` alone; a NUL, which no argument of a program can hold, is matched by `?`.
CKPT_API std::string escaped_glob(std::string_view name);

/// True where any of `patterns` matches, or where there are none.
CKPT_API bool any_glob_match(const std::vector<std::string>& patterns, std::string_view name);

}  // namespace ckpt
