#pragma once

#include <string>

namespace ckpt::eval {

/// Text between tags, or in an attribute between double quotes, of XML and HTML. What XML cannot say (control
/// characters, bytes that are no UTF-8) and what cannot be seen is spelt out.
[[nodiscard]] std::string escape_markup(const std::string& text);

}  // namespace ckpt::eval
