#include "ckpt/scan.h"

#include <algorithm>
#include <array>
#include <span>

#include "ckpt/formats.h"
#include "io/bytes.h"
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

/// Only names that something may be called: of the others, scan leaves out those that may stand there by chance.
bool is_spelt_right(std::string_view text) {
  bool begins = true;
  char before = 0;  // a comma and a space part two names; without the other, each is odd
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    const bool between = c == '.' || c == ',' || (c == ' ' && before == ',');
    if (!letter && !between && (!digit || begins)) return false;
    if ((before == ',' && c != ' ') || (c == '.' && begins)) return false;
    begins = between;
    before = c;
  }
  return !begins;
}

/// The names that the refusal of a pickle calls dangerous; empty where it calls none so, or one that scan may judge
/// better, since it goes on where the reader refuses.
std::string dangers_of(const Error& refusal) {
  constexpr std::string_view begin = "a pickle that calls for ", end = " (dangerous)";
  const std::string text = refusal.what();
  const std::size_t at = text.find(begin), to = text.rfind(end);  // a name may hold it too
  if (at == std::string::npos || to == std::string::npos) return {};
  const std::string names = text.substr(at + begin.size(), to - at - begin.size());
  return names.find("_load_from_bytes") == std::string::npos && is_spelt_right(names) ? names : std::string();
}

/// To a pickle, that is a persistent id, which no program that loads pickles alone has a use for: scan follows none
/// there.
bool begins_as_archive(const ByteSource& source) {
  std::array<std::byte, 4> begin{};
  return as_text(std::span(begin).first(source.read_at(0, begin))) == "PK\3\4";
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
    const std::string names = dangers_of(*refused);
    const bool is_found = result.verdict == ScanVerdict::dangerous || begins_as_archive(*source);
    require(names.empty() || is_found, "reading finds " + names);
    return 0;
  }
  for (const GlobalUse& use : checkpoint.globals)
    require(result.verdict >= weight_of(use.verdict) || !is_spelt_right(use.module) || !is_spelt_right(use.name),
            "reading finds " + use.module + "." + use.name);
  return 0;
}

}  // namespace ckpt::fuzz
