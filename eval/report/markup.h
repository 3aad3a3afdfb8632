#pragma once

#include <string>

namespace ckpt::eval {

/// Text between tags, or in an attribute between double quotes, of XML and HTML. Control characters and bytes that are
/// no UTF-8, which XML cannot say at all, are left out; invisible characters are spelt out.
[[nodiscard]] std::string escape_markup(const std::string& text);

}  // namespace ckpt::eval
