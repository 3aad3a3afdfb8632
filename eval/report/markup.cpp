#include "report/markup.h"

#include "console/text.h"

namespace ckpt::eval {

std::string escape_markup(const std::string& text) {
  std::string out;
  for (const char c : tools::printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace ckpt::eval
