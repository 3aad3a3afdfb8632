#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckpt/eval.h"
#include "console/arguments.h"
#include "report/verdict.h"

/// What the options of ckpt eval and ckpt eval-merge were set to.
namespace ckpt::eval {

/// Throws Error (invalid_argument): the file of that option has no name, as where a shell's variable was not set.
void refuse_empty(const std::string& option, const std::optional<std::string>& file);

/// Where a result goes.
struct OutputSettings {
  /// Files, "-" for standard output; none: not asked for.
  std::optional<std::string> json, junit, markdown, report, predictions, outputs;

  /// All but --outputs, which a model alone has.
  void define(tools::Arguments& arguments);
  void define_outputs(tools::Arguments& arguments);
  /// Throws Error (invalid_argument) where two of them go to one file, or to standard output.
  void check() const;
  /// Throws Error (invalid_argument) where one of them, but `rolling`, would replace one of `files`, which are read; io
  /// where that cannot be found out.
  void check_spares(const std::vector<std::string>& files, const std::optional<std::string>* rolling = nullptr) const;
  /// Throws Error (io, on_output) where one could not be written: before the run, which may be long.
  void try_out() const;
  /// The one that may replace a baseline of that kind, since it writes the next one; null: none.
  [[nodiscard]] const std::optional<std::string>* rolling(BaselineKind kind) const;
  /// Whether standard output is taken, and the table must not be printed there.
  [[nodiscard]] bool takes_standard_output() const;
};

/// What a result must reach, as given.
struct BarSettings {
  std::optional<std::string> min_accuracy, baseline, max_drop;

  void define(tools::Arguments& arguments);
  void check() const;
  /// Without a baseline that is a model, which is to be evaluated. Throws Error: what read_baseline() throws.
  [[nodiscard]] Bars bars() const;
};

struct Settings {
  std::vector<std::string> files;
  std::vector<tools::GivenOption> given_options;
  std::optional<std::string> arch, root, data, split, activation, normalize, device, batch_size, shard;
  bool strict = false, tf32 = false, bf16 = false, predict = false;
  OutputSettings output;
  BarSettings bars;

  void define(tools::Arguments& arguments);
  /// Throws Error (invalid_argument) for options that --predict has no use for.
  void check_predict() const;
  /// Throws Error (invalid_argument) for values that no option takes and options that exclude each other.
  [[nodiscard]] Options options() const;
  /// Of a hint that begins with --arch, as evaluate() proposes options, makes the command with them and all others.
  void complete_hint(Error& error) const;
};

}  // namespace ckpt::eval
