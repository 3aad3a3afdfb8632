#include "ckpt/scan.h"

#include <algorithm>

#include "ckpt/formats.h"
#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

ScanVerdict weight_of(Verdict verdict) {
  return verdict == Verdict::dangerous ? ScanVerdict::dangerous
         : verdict == Verdict::unknown ? ScanVerdict::unknown
                                       : ScanVerdict::safe;
}

void check_itself(const ScanResult& result) {
  ScanVerdict least = result.error.empty() ? ScanVerdict::safe : ScanVerdict::unreadable;
  for (const ScanFinding& finding : result.findings) {
    require(finding.verdict != Verdict::known, "a known name is a finding");
    least = std::max(least, weight_of(finding.verdict));
  }
  require(result.verdict == least || result.left_out > 0, "the verdict is not that of the findings");
}

}  // namespace

int fuzz_scan(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  ScanResult result;
  const auto failed = error_of([&] { result = scan(source); });
  require(!failed, std::string("scan throws: ") + (failed ? failed->what() : ""));
  check_itself(result);
  Checkpoint checkpoint;
  if (const auto refused = error_of([&] { checkpoint = read(source); })) {
    const bool named = std::string(refused->what()).find("a pickle that calls for ") != std::string::npos;
    require(!named || result.verdict == ScanVerdict::dangerous, std::string("not dangerous: ") + refused->what());
    return 0;
  }
  for (const GlobalUse& use : checkpoint.globals)
    require(result.verdict >= weight_of(use.verdict), "reading finds " + use.module + "." + use.name);
  return 0;
}

}  // namespace ckpt::fuzz
