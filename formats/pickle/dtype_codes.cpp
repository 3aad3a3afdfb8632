#include "pickle/dtype_codes.h"

#include <algorithm>
#include <charconv>

#include "model/numpy_codes.h"

namespace ckpt::pickle {
namespace {

/// That elements are counted references, that arrays of them are pickled as lists, that they are pointers, that memory
/// is zeroed for them, that each is read by itself, that functions of their own do that.
constexpr std::int64_t holds_objects = 1 | 2, is_pointer = 4, is_zeroed = 8, is_read_by_itself = 16;
constexpr std::int64_t has_functions = 32 | 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '?'; }

}  // namespace

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

bool are_without_objects(std::int64_t flags) {
  return flags >= 0 && (flags & (holds_objects | is_pointer | has_functions)) == 0;
}

bool owns_up_to_objects(std::int64_t flags, bool has_fields) {
  constexpr std::int64_t owned = holds_objects | is_zeroed | is_read_by_itself;
  return (flags & owned) == owned && !(has_fields && (flags & is_pointer) != 0);
}

bool are_read_by_themselves(std::int64_t flags) { return (flags & is_read_by_itself) != 0; }

}  // namespace ckpt::pickle
