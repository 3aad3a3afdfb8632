#pragma once

#include <string>
#include <vector>

#include "ckpt/diff.h"

namespace ckpt::tools {

/// A comparison and the files it was made of, to be put into words or JSON.
struct DiffReport {
  std::string file_a, file_b;
  const Checkpoint* a = nullptr;
  const Checkpoint* b = nullptr;
  std::vector<std::string> ignored;  ///< words of --ignore
  CheckpointDiff diff;
};

/// The command that takes the one change of prefix back; empty where there is none.
std::string prefix_hint(const DiffReport& report);

/// `quiet`: no remarks, and nothing at all where nothing differs.
std::string diff_text(const DiffReport& report, bool quiet);
/// One object on one line.
std::string diff_json(const DiffReport& report);

}  // namespace ckpt::tools
