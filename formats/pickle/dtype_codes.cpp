#include "pickle/dtype_codes.h"

#include <algorithm>
#include <charconv>

namespace ckpt::pickle {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '?'; }

}  // namespace

std::string_view without_order(std::string_view code) {
  return code.substr(!code.empty() && std::string_view("<>=|").find(code[0]) != std::string_view::npos ? 1 : 0);
}

std::optional<DtypeCode> dtype_code(std::string_view text) {
  text = without_order(text);
  if (text.size() < 2 || std::string_view("biufcmMOSUVa").find(text[0]) == std::string_view::npos) return std::nullopt;
  DtypeCode code{.kind = text[0]};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 1, end, code.size);
  if (error != std::errc{} || stop != end) return std::nullopt;
  if (code.kind == 'O') code.size = sizeof(void*);  // O4 is what 32 bits wrote
  return code;
}

bool is_one_type(std::string_view text) {
  text = without_order(text);
  if (const std::size_t unit = text.find('['); unit != std::string_view::npos && text.ends_with(']'))
    text = text.substr(0, unit);
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

bool is_of_objects(std::string_view text) {
  text = without_order(text);
  return text.starts_with('O') || text.starts_with("object");
}

}  // namespace ckpt::pickle
