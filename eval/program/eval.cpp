#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/eval.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/progress.h"
#include "program/delivery.h"
#include "program/predict.h"
#include "program/settings.h"
#include "report/partial.h"
#include "report/words.h"

namespace ckpt::eval {
namespace {

/// Is given the paths of what is read, and throws where an output would replace any of it.
using Spare = std::function<void(const std::vector<std::string>&)>;

Result evaluate_aloud(const Options& options, const Spare& spare, bool quiet) {
  tools::Progress progress("evaluating " + options.model, quiet || rank_in(options.world.get()) != 0);
  Observer observer;
  observer.warning = [&](const std::string& text) {
    progress.clear();
    tools::print_warning(options.model + ": " + text);
  };
  if (!quiet) {
    observer.note = [&](const std::string& text) {
      progress.clear();
      tools::print_note(text);
    };
  }
  observer.files = spare;
  observer.progress = [&](std::uint64_t done, std::uint64_t all) { progress.update(done, all); };
  return evaluate(options, observer);
}

/// With --tf32 or --bf16 both ways are run, so that it is seen what the faster one costs.
Result evaluate_as_asked(const Options& options, const Spare& spare, bool quiet) {
  Options plain = options;
  plain.tf32 = plain.bf16 = false;
  Result exact = evaluate_aloud(plain, spare, quiet);
  if (!options.tf32 && !options.bf16) return exact;
  // Ranks run equally often, and only rank 0 knows on which devices all of them did.
  const bool reports = rank_in(options.world.get()) == 0;
  const bool on_gpu = exact.device.find("cuda") != std::string::npos;
  Result fast = on_gpu || options.world ? evaluate_aloud(options, spare, quiet) : Result();
  if (!reports) return exact;
  if (!on_gpu) {
    const std::string reason = "--tf32 and --bf16 are for GPUs: this ran on " + exact.device + " in float32";
    exact.warnings.push_back(reason);
    if (!quiet) tools::print_note(reason);
    return exact;
  }
  fast.seconds.start = exact.seconds.start;
  const std::string difference = std::string(options.bf16 ? "bfloat16" : "TF32") + " gets " +
                                 std::to_string(fast.counts.correct) + " right, and float32 " +
                                 std::to_string(exact.counts.correct) + ", of " + std::to_string(exact.counts.samples);
  fast.warnings.push_back(difference);
  if (!quiet) tools::print_note(difference);
  return fast;
}

/// What is said of it is said in `warnings`, too.
Baseline evaluated_baseline(const std::string& model, Options options, const Spare& spare, bool quiet,
                            std::vector<std::string>& warnings) {
  options.model = model;
  options.is_baseline = true;
  options.outputs = false;
  options.worst = 0;
  try {
    const Result result = evaluate_aloud(options, spare, quiet);
    for (const std::string& warning : result.warnings)
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
        warnings.push_back(model + ": " + warning);
    return baseline_of(result);
  } catch (Error& error) {
    if (options.root || options.arch != "auto" || error.hint().starts_with("--arch "))
      error.hint("--root, --arch, --activation and --normalize are the baseline's, too; with others: ckpt eval " +
                 shell_word(model) + " --data " + shell_word(options.data.value()) +
                 (options.split == "testing" ? "" : " --split " + options.split) +
                 " --predictions old.csv, and then --baseline old.csv");
    throw error.in(model);
  }
}

int run(const Settings& settings, bool quiet) {
  if (settings.files.size() != 1)
    throw tools::usage_error("eval takes one MODEL, and " + std::to_string(settings.files.size()) + " were given",
                             "ckpt eval model.pt.gz --data data/MNIST/raw");
  Options options = settings.options();
  settings.output.check_spares({options.model});
  options.world = join_world();
  bool spares = false, refused = false;
  const auto check_spares = [&](const std::vector<std::string>& files, const std::optional<std::string>* rolling) {
    refused = true;
    settings.output.check_spares(files, rolling);
    refused = false;
  };
  const Spare spare = [&](const std::vector<std::string>& files) {
    check_spares(files, nullptr);
    if (!spares) settings.output.try_out();
    spares = true;
  };
  const auto failed = [&](const Error& error) {
    if (!refused && rank_in(options.world.get()) == 0) deliver_failure(options.model, error, settings.output, spares);
  };
  try {
    // Before the run, which may be long: what is wrong with it should not be learnt at its end.
    Bars bars = settings.bars.bars();
    const bool baseline_is_model = settings.bars.baseline && !bars.baseline;
    if (bars.baseline && bars.baseline->statements.empty() && !bars.max_drop) throw nothing_to_compare(*bars.baseline);
    if (settings.bars.baseline)
      check_spares({*settings.bars.baseline},
                   settings.output.rolling(bars.baseline ? bars.baseline->kind : BaselineKind::model));
    Result result = evaluate_as_asked(options, spare, quiet);
    if (settings.shard) {
      tools::print(partial_text(result, options));
      return tools::exit_done;
    }
    options.data = result.data;  // a model to compare with runs on the same
    if (baseline_is_model)
      bars.baseline = evaluated_baseline(*settings.bars.baseline, options, spare, quiet, result.warnings);
    if (rank_in(options.world.get()) != 0) return tools::exit_done;
    return deliver(std::move(result), bars, settings.output);
  } catch (Error& error) {
    settings.complete_hint(error);
    failed(error.in(options.model));
    throw;
  } catch (const std::bad_alloc&) {
    failed(Error(ErrorCode::out_of_memory, "memory ran out").in(options.model));
    throw;
  } catch (const std::exception& error) {
    failed(Error(ErrorCode::unsupported, std::string("this is a bug in ckpt: ") + error.what()).in(options.model));
    throw;
  }
}

tools::Runner define(tools::Arguments& arguments) {
  const auto settings = std::make_shared<Settings>();
  settings->define(arguments);
  return [settings](bool quiet) { return settings->predict ? predict(*settings, quiet) : run(*settings, quiet); };
}

}  // namespace

extern const tools::Command eval_command;
const tools::Command eval_command{
    "eval",
    "MODEL [--data PATH] [options]",
    "load it into its reference model and run the test set",
    "Loads a checkpoint into the model that it was trained as, runs a test set on whatever accelerator is\n"
    "there, and says how good it is; where it does not load, what is wrong and which command mends it.\n"
    "Under torchrun or srun the test set is divided among the ranks, and rank 0 reports.\n",
    "ckpt eval model.pt.gz --data data/MNIST/raw --min-accuracy 97%",
    "ckpt eval captcha.pt --predict picture.png",
    define,
    false,
};

}  // namespace ckpt::eval
