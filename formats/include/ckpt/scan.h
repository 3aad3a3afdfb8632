#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

/// Is a file safe to load? Looks at bytes, not at what a reader makes of them: each pickle in each member of each
/// archive in the file, in gzip or not, whatever its name, and the pickles in texts that a pickle's calls are given.
///
///     const auto result = ckpt::scan(ckpt::open_file("model.pt"));
///     for (const auto& found : result.findings)
///       if (found.verdict == ckpt::Verdict::dangerous) std::cerr << found.name << '\n';
namespace ckpt {

/// By weight: of several the heaviest counts. What could not be judged to its end weighs more than a name that nobody
/// knows, and less than one that runs code.
enum class ScanVerdict : std::uint8_t { safe, unknown, unreadable, dangerous };

/// "safe", "unknown", "unreadable" or "dangerous".
CKPT_API std::string_view scan_verdict_name(ScanVerdict verdict);

/// A name that a pickle of the file would import, which is unknown or dangerous by itself or as it is used there.
struct ScanFinding {
  Verdict verdict = Verdict::unknown;
  std::string module, name;  ///< "(computed)" where no text of the pickle says it
  bool called = false;       ///< else it is only imported, as far as the pickle tells
  std::string how;           ///< the opcodes that import it, call it and give its result a state: "GLOBAL, REDUCE"
  std::string where;  ///< the part of the file, from the outside in: "gzip: member 'r/data.pkl'"; empty: the file
  std::uint64_t offset = 0;  ///< the byte of the instruction that imports it,
  std::string stream;        ///< counted in this inflated or decoded part; empty: in the file itself
};

struct ScanResult {
  std::string file;
  ScanVerdict verdict = ScanVerdict::safe;
  std::vector<ScanFinding> findings;  ///< dangerous and unknown names, by part; at most limits::scan_findings
  std::size_t left_out = 0;           ///< findings past that number
  std::string error;                  ///< what could not be judged, and why; empty where all was
  std::size_t pickles = 0;            ///< how many were followed
  std::size_t known = 0;              ///< different names among their imports that policy knows
  /// Whether it is anything that could be judged: a text or a picture is not, and is unreadable then. An archive or a
  /// compressed file of another kind (7z, xz …), which may hide what it likes, counts as recognised.
  bool recognised = false;
};

/// Runs nothing and builds nothing; memory and time are bounded (ckpt/limits.h). What came before a break is judged.
/// Throws Error: io, out_of_memory; everything else is in the result.
CKPT_API ScanResult scan(const ByteSourcePtr& source);

}  // namespace ckpt
