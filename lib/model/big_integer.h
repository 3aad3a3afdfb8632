#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ckpt {

/// An integer of two's complement, little-endian, of any size, in decimal as Python's str() says it; none where that is
/// longer than limits::integer_digits, where Python refuses, too.
std::optional<std::string> decimal_text(std::string_view twos_complement);

}  // namespace ckpt
