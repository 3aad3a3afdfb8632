#include "report/markup.h"

#include "ckpt/utf8.h"
#include "console/text.h"

namespace ckpt::eval {

std::string escape_markup(const std::string& text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    const bool control = c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0);
    if (c.valid && !control)
      kept.append(text, at, c.size);
    else if (c.valid && (c.value == '\n' || c.value == '\t'))
      kept += ' ';
    at += c.size;
  }
  std::string out;
  for (const char c : tools::printable(kept)) {
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
