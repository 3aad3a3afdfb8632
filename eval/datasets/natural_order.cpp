#include "datasets/natural_order.h"

#include <algorithm>

namespace ckpt::eval {
namespace {

bool starts_with_digit(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

/// Takes the number off the beginning of `text`; gives it without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto number = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(number.size());
  return number.substr(std::min(number.find_first_not_of('0'), number.size()));
}

/// Negative, 0 or positive. Digits may be more than any integer holds.
int compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (starts_with_digit(a) && starts_with_digit(b)) {
      const auto number = take_number(a);
      const int order = compare_numbers(number, take_number(b));
      if (order != 0) return order < 0;
      continue;
    }
    if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

}  // namespace ckpt::eval
