#include "report/fraction.h"

#include "console/messages.h"
#include "console/number.h"

namespace ckpt::eval {

double parse_fraction(const std::string& text, const std::string& option) {
  const bool percent = text.ends_with('%');
  std::string digits = text.substr(0, text.size() - (percent ? 1 : 0));
  const std::string example = "a fraction or a percentage: " + option + " 0.97, or " + option + " 97%";
  if (digits.empty() || digits.size() > 40 || digits.find_first_not_of("0123456789.") != std::string::npos)
    throw tools::usage_error(option + " \"" + text + "\" is no fraction", example);
  // The point is moved in the text: 97.71 / 100 would not be the number nearest to 0.9771.
  if (percent) digits += "e-2";
  const auto parsed = tools::parse_number<double>(digits);
  if (!parsed) throw tools::usage_error(option + " \"" + text + "\" is no fraction", example);
  const double value = *parsed;
  if (value > 1 && !percent)
    throw tools::usage_error(option + " " + text + " is more than 1, the whole",
                             value <= 100 ? "if percent are meant: " + option + " " + text + "%" : example);
  if (value > 1) throw tools::usage_error(option + " " + text + " is more than 100%, the whole", example);
  return value;
}

}  // namespace ckpt::eval
