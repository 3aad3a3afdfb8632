#include "ckpt/scan.h"

#include "foreign.h"
#include "scan/walk.h"

namespace ckpt {

std::string_view scan_verdict_name(ScanVerdict verdict) {
  switch (verdict) {
    case ScanVerdict::safe:
      return "safe";
    case ScanVerdict::unknown:
      return "unknown";
    case ScanVerdict::unreadable:
      return "unreadable";
    case ScanVerdict::dangerous:
      break;
  }
  return "dangerous";
}

ScanResult scan(const ByteSourcePtr& source) {
  ScanResult result;
  result.file = source->name();
  scanning::Walk walk(source, result);
  walk.run();
  if (result.recognised || result.verdict == ScanVerdict::dangerous) return result;
  result.verdict = ScanVerdict::unreadable;
  if (!result.error.empty()) return result;
  result.error = foreign_file(walk.innermost()).what();
  if (result.error.starts_with(result.file + ": ")) result.error.erase(0, result.file.size() + 2);
  return result;
}

}  // namespace ckpt
