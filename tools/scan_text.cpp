#include "console/render.h"
#include "console/text.h"
#include "scan_report.h"

namespace ckpt::tools {
namespace {

std::string verdict_text(const ScanResult& result, const Colours& colours) {
  const std::string name(scan_verdict_name(result.verdict));
  switch (result.verdict) {
    case ScanVerdict::dangerous:
      return colours.red(name);
    case ScanVerdict::unreadable:
      return colours.yellow(name) + ": " + printable(result.error);
    case ScanVerdict::unknown:
      return colours.yellow(name);
    case ScanVerdict::safe:
      break;
  }
  if (result.pickles == 0) return name + " (no pickle)";
  return name + " (" + count_text(result.pickles, "pickle") + ", " + count_text(result.known, "known name") + ")";
}

std::string finding_text(const ScanFinding& finding, const Colours& colours) {
  const std::string verdict(verdict_name(finding.verdict));
  const bool dangerous = finding.verdict == Verdict::dangerous;
  return "  " + (dangerous ? colours.red(verdict) : colours.yellow(verdict)) + ": " +
         printable(finding.module + "." + finding.name) + ", " + printable(reached_text(finding)) + "\n";
}

}  // namespace

std::string reached_text(const ScanFinding& finding) {
  std::string text = finding.called ? "called" : "imported";
  if (!finding.how.empty()) text += " (" + finding.how + ")";
  text += ", at byte " + std::to_string(finding.offset);
  if (!finding.stream.empty()) text += " of " + finding.stream;
  if (finding.where != finding.stream) text += ", in " + finding.where;
  return text;
}

std::string scan_text(const ScanResult& result) {
  const Colours colours;
  std::string out = printable(result.file) + ": " + verdict_text(result, colours) + "\n";
  for (const ScanFinding& finding : result.findings) out += finding_text(finding, colours);
  if (result.left_out > 0) out += "  and " + count_text(result.left_out) + " more\n";
  if (result.verdict != ScanVerdict::unreadable && !result.error.empty())
    out += "  not all of it could be judged: " + printable(result.error) + "\n";
  return out;
}

}  // namespace ckpt::tools
