#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/eval.h"
#include "metrics/mcnemar.h"
#include "report/statements.h"

/// Whether a model is good enough.
namespace ckpt::eval {

enum class BaselineKind { model, json, predictions };

/// What a result is measured against.
struct Baseline {
  BaselineKind kind = BaselineKind::model;
  std::string file;
  double accuracy = 0;                ///< NaN where it has none
  std::string data_digest;            ///< empty where it does not say
  std::vector<Statement> statements;  ///< where there are any: they are compared sample by sample
};

/// An earlier --json or --predictions, as its content says; none where the file or folder is a model, which the caller
/// evaluates. Throws Error: corrupt, limit_exceeded, io; unsupported (a partial result); invalid_argument (a model that
/// comes through a pipe, which could not be opened again).
[[nodiscard]] std::optional<Baseline> read_baseline(const std::string& file);
/// A model that has been evaluated; with predictions, where it was asked for them.
[[nodiscard]] Baseline baseline_of(const Result& result);

/// Where a baseline has no predictions, and nobody says how much lower the accuracy may be: a usage error.
[[nodiscard]] Error nothing_to_compare(const Baseline& baseline);

/// What a result must reach.
struct Bars {
  std::optional<double> min_accuracy;
  std::optional<Baseline> baseline;
  /// By how much the baseline's accuracy may be higher. None: with samples to compare, it must not be significantly
  /// higher (McNemar's test, p < 0.05).
  std::optional<double> max_drop;
};

struct Comparison {
  BaselineKind kind = BaselineKind::model;
  std::string file;
  double accuracy = 0;            ///< the baseline's
  double drop = 0;                ///< its accuracy less this one
  std::optional<bool> same_data;  ///< none where the baseline does not say on which data it was measured
  std::optional<Discordant> pairs;
  std::optional<double> p;  ///< McNemar's, of the pairs
};

struct Verdict {
  struct Check {
    std::string name, sentence;
    bool passed = true;
  };
  std::vector<Check> checks;
  std::optional<Comparison> baseline;

  /// Where not, the exit status is 1.
  [[nodiscard]] bool passed() const;
};

/// Outputs that are not finite and an accuracy that is unknown fail without any bar. Throws Error (invalid_argument):
/// a baseline's samples are not the result's; no drop was named and there is nothing to compare sample by sample.
[[nodiscard]] Verdict judge(const Result& result, const Bars& bars);

}  // namespace ckpt::eval
