#include "ckpt/pictures.h"

#include <algorithm>

#include "datasets/folder.h"

namespace ckpt::eval {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char folded(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_code_character(char c) { return is_digit(c) || (folded(c) >= 'a' && folded(c) <= 'z'); }

/// The part of a name, without its suffix, where the code would stand.
std::string_view code_in(std::string_view stem) {
  const std::size_t end = stem.find_first_of("-_");
  if (end == std::string_view::npos) return {};
  if (stem[end] == '_') return stem.substr(0, end);
  const auto number = stem.substr(0, end);
  return !number.empty() && std::all_of(number.begin(), number.end(), is_digit) ? stem.substr(end + 1) : "";
}

}  // namespace

std::optional<std::string> label_of(std::string_view path, std::size_t length) {
  const auto name = path.substr(path.rfind('/') + 1);
  if (!is_picture_name(name)) return std::nullopt;
  const auto code = code_in(name.substr(0, name.rfind('.')));
  if (code.size() != length || !std::all_of(code.begin(), code.end(), is_code_character)) return std::nullopt;
  std::string label(code);
  std::transform(label.begin(), label.end(), label.begin(), folded);
  return label;
}

}  // namespace ckpt::eval
