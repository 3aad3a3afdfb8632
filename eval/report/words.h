#pragma once

#include <string>
#include <vector>

#include "ckpt/eval.h"
#include "metrics/tally.h"

/// How a result is put into words, the same in every report.
namespace ckpt::eval {

constexpr int most_decimals = 9;
/// "97.71 %"; "unknown" for NaN. More decimals than `digits`, where it takes them not to round to 0 % or 100 % what is
/// neither.
[[nodiscard]] std::string percent_text(double fraction, int digits = 2);
/// "0.43 s"
[[nodiscard]] std::string seconds_text(double seconds);
/// "9,771 of 10,000"
[[nodiscard]] std::string tally_text(const Tally& tally);

/// Samples a second while the model ran; NaN where no time was taken.
[[nodiscard]] double samples_per_second(const Result& result);

struct Row {
  std::string name, value, detail;
};
/// Accuracy with its interval: the first row of every report.
[[nodiscard]] Row accuracy_row(const Result& result);
/// Speed, time by phase, memory, device.
[[nodiscard]] std::vector<Row> machine_rows(const Result& result);
/// A row a class; of many, the `most` of the lowest accuracy.
[[nodiscard]] std::vector<Row> class_rows(const Result& result, std::size_t most);
/// A row a position where there are several, likewise, else class_rows().
[[nodiscard]] std::vector<Row> part_rows(const Result& result, std::size_t most);

}  // namespace ckpt::eval
