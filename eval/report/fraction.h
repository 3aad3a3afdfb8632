#pragma once

#include <string>

namespace ckpt::eval {

/// "0.97" or "97%", as 0.97; `option` is named in the refusal of anything else, of "97" too, which could be meant for
/// either. Throws Error (invalid_argument).
[[nodiscard]] double parse_fraction(const std::string& text, const std::string& option);

}  // namespace ckpt::eval
