#pragma once

#include <string>
#include <vector>

#include "ckpt/scan.h"

namespace ckpt::tools {

/// "called (GLOBAL, REDUCE), at byte 57, in member 'r/data.pkl'"; not made printable.
std::string reached_text(const ScanFinding& finding);

/// What is said of one file, and of all: lines for people.
std::string scan_text(const ScanResult& result);
/// One JSON object, on one line.
std::string scan_json(const ScanResult& result);
/// All results as one document: SARIF 2.1.0, with what GitHub's code scanning asks for.
std::string scan_sarif(const std::vector<ScanResult>& results);

}  // namespace ckpt::tools
