#include "ckpt/scan.h"

#include <array>
#include <span>

#include "foreign.h"
#include "io/bytes.h"
#include "scan/walk.h"
#include "suffix.h"

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

namespace {

/// Whether it is called what people load pickles from, compressed or not. (A .bin may be anybody's.)
bool is_named_for_loaders(std::string_view name) {
  std::string_view bare = without_gz(name);
  if (bare == name) bare.remove_suffix(suffix_among(name, foreign_compressions).size());
  return !suffix_among(bare, scanning::pickle_suffixes).empty();
}

/// What is no text and named so may be a pickle in a form that is not looked into.
bool may_hide_a_pickle(const ByteSource& source, std::string_view name) {
  std::array<std::byte, 64> bytes{};
  const std::string_view head = as_text(std::span(bytes).first(source.read_at(0, bytes)));
  return !head.empty() && text_kind(head).empty() && is_named_for_loaders(name);
}

}  // namespace

ScanResult scan(const ByteSourcePtr& source) {
  ScanResult result;
  result.file = source->name();
  scanning::Walk walk(source, result);
  walk.run();
  if (result.recognised || result.verdict == ScanVerdict::dangerous) return result;
  result.verdict = ScanVerdict::unreadable;
  if (!result.error.empty()) return result;
  result.recognised = may_hide_a_pickle(walk.innermost(), result.file);
  result.error = foreign_file(walk.innermost()).what();
  if (result.error.starts_with(result.file + ": ")) result.error.erase(0, result.file.size() + 2);
  return result;
}

}  // namespace ckpt
