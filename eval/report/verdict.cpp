#include "report/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "ckpt/error.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"
#include "report/words.h"

namespace ckpt::eval {
namespace {

// A difference of two fractions is exact to some 1e-16: a drop of just what is allowed must pass.
constexpr double rounding = 1e-12;
constexpr double significant = 0.05;

std::string p_text(double p) {
  if (p < 0.0001) return "p < 0.0001";
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "p = %.4f", p);
  return buffer.data();
}

Verdict::Check finite_check(const Result& result) {
  const std::uint64_t bad = result.counts.not_finite;
  if (bad == 0) return {"outputs are finite", "all outputs are finite", true};
  return {"outputs are finite",
          tally_text({bad, result.counts.samples}) + " samples have NaN or infinity among their outputs", false};
}

/// None where no bar was set and there is an accuracy.
std::optional<Verdict::Check> bar_check(const Result& result, std::optional<double> bar) {
  const double accuracy = result.counts.accuracy();
  const std::string name = "accuracy reaches the bar";
  if (std::isnan(accuracy)) return Verdict::Check{name, "the accuracy is unknown: there are no samples", false};
  if (!bar) return std::nullopt;
  const bool passed = accuracy >= *bar;
  int decimals = 2;
  while (!passed && decimals < most_decimals && percent_text(accuracy, decimals) == percent_text(*bar, decimals))
    ++decimals;
  return Verdict::Check{name,
                        "accuracy " + percent_text(accuracy, decimals) + " (" +
                            tally_text({result.counts.correct, result.counts.samples}) + ")" +
                            (passed ? " reaches " : " is below ") + percent_text(*bar, decimals),
                        passed};
}

/// The test sample by sample, in brackets.
std::string pairs_text(const Comparison& comparison) {
  if (!comparison.pairs) return {};
  return " (" + tools::count_text(comparison.pairs->lost, "sample") + " lost, " +
         tools::count_text(comparison.pairs->gained) + " gained, McNemar " + p_text(*comparison.p) + ")";
}

Verdict::Check baseline_check(const Result& result, const Bars& bars, const Comparison& comparison) {
  const std::string name = "no worse than the baseline", file = tools::printable(comparison.file);
  if (std::isnan(comparison.accuracy)) return {name, "the baseline " + file + " has no accuracy", false};
  const double now = result.counts.accuracy(), drop = comparison.drop;
  if (std::isnan(now)) return {name, "there is no accuracy to compare with that of " + file, false};
  std::string sentence = "accuracy " + percent_text(now) + " is ";
  if (drop == 0)
    sentence += "that of " + file;
  else
    sentence += percent_text(std::abs(drop)) + (drop > 0 ? " below that of " : " above that of ") + file;
  sentence += ", " + percent_text(comparison.accuracy) + pairs_text(comparison);
  if (comparison.same_data == false) sentence += ", which was measured on other data";
  if (bars.max_drop) {
    const bool passed = drop <= *bars.max_drop + rounding;
    return {name, sentence + (passed ? "" : "; at most " + percent_text(*bars.max_drop) + " was allowed"), passed};
  }
  const bool passed = drop <= 0 || *comparison.p >= significant;
  return {name, sentence + (passed ? "" : "; the difference is significant"), passed};
}

}  // namespace

Error nothing_to_compare(const Baseline& baseline) {
  return tools::usage_error("--baseline " + shell_word(baseline.file) + " has no predictions to compare with",
                            "say how much lower the accuracy may be: --max-drop 0.5%");
}

Baseline baseline_of(const Result& result) {
  return {BaselineKind::model, result.model, result.counts.accuracy(), result.data_digest, statements(result)};
}

bool Verdict::passed() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.passed; });
}

Verdict judge(const Result& result, const Bars& bars) {
  Verdict out;
  out.checks.push_back(finite_check(result));
  if (auto check = bar_check(result, bars.min_accuracy)) out.checks.push_back(std::move(*check));
  if (!bars.baseline) {
    if (bars.max_drop) throw tools::usage_error("--max-drop says nothing without a baseline", "add --baseline OLD");
    return out;
  }
  const Baseline& old = *bars.baseline;
  Comparison& comparison = out.baseline.emplace();
  comparison.kind = old.kind;
  comparison.file = old.file;
  comparison.accuracy = old.accuracy;
  comparison.drop = old.accuracy - result.counts.accuracy();
  if (!old.data_digest.empty() && !result.data_digest.empty())
    comparison.same_data = old.data_digest == result.data_digest;
  if (!old.statements.empty() && !result.predictions.labels.empty()) {
    try {
      comparison.pairs = discordant(old.statements, statements(result));
    } catch (Error& error) {
      throw error.in(old.file);
    }
    comparison.p = mcnemar(*comparison.pairs);
  }
  if (!comparison.p && !bars.max_drop) throw nothing_to_compare(old);
  out.checks.push_back(baseline_check(result, bars, comparison));
  return out;
}

}  // namespace ckpt::eval
