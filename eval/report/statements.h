#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/eval.h"
#include "metrics/mcnemar.h"

namespace ckpt::eval {

/// What was said of one sample: a line of --predictions.
struct Statement {
  std::uint64_t index = 0;
  std::string label, prediction;
};

[[nodiscard]] std::vector<Statement> statements(const Result& result);

/// `index,label,prediction,confidence` and a line a sample.
[[nodiscard]] std::string csv_text(const Result& result);

/// Whether a text begins as csv_text() does.
[[nodiscard]] bool is_csv(const std::string& text);

/// What csv_text() wrote. Throws Error (corrupt), with the line, in `file`.
[[nodiscard]] std::vector<Statement> parse_csv(const std::string& text, const std::string& file);

/// How often one of two models alone was right. Throws Error (invalid_argument) where they did not read the same
/// samples: the first difference.
[[nodiscard]] Discordant discordant(const std::vector<Statement>& old, const std::vector<Statement>& now);

}  // namespace ckpt::eval
