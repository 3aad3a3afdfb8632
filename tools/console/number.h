#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ckpt::tools {

/// The number that the whole text is; none where it is anything else, or more than a Number holds.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace ckpt::tools
