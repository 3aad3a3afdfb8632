#include "finding.h"

#include "console/text.h"

namespace ckpt::tools {

std::string without_name(std::string words, const std::string& name) {
  if (!name.empty() && words.starts_with(name + ": ")) words.erase(0, name.size() + 2);
  return words;
}

std::string finding_line(const std::string& file, const Finding& finding, const Colours& colours) {
  return printable(file) + ": " + (finding.fault ? colours.red("fault: ") : "remark: ") +
         (finding.where.empty() ? "" : printable(finding.where) + ": ") + printable(finding.what) + "\n";
}

}  // namespace ckpt::tools
