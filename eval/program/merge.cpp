#include <memory>

#include "console/command.h"
#include "console/messages.h"
#include "program/delivery.h"
#include "report/partial.h"

namespace ckpt::eval {
namespace {

struct MergeSettings {
  std::vector<std::string> files;
  OutputSettings output;
  BarSettings bars;
};

Bars bars_of(const BarSettings& given) {
  Bars bars = given.bars();
  if (given.baseline && !bars.baseline)
    throw tools::usage_error("eval-merge runs no model, and " + *given.baseline + " is one",
                             "--baseline takes an earlier --json or --predictions here");
  return bars;
}

/// What is asked of each sample is to be in every part.
void need_predictions(const std::vector<Part>& parts, const std::string& option) {
  for (const Part& part : parts) {
    if (has_predictions(part)) continue;
    throw tools::usage_error(part.file + " has no predictions, which " + option + " needs of every part",
                             "ckpt eval MODEL --data DATA --shard " + std::to_string(part.result.shard->index) + "/" +
                                 std::to_string(part.result.shard->count) +
                                 " --predictions FILE prints that part with them");
  }
}

int run(const MergeSettings& settings) {
  if (settings.files.empty())
    throw tools::usage_error("eval-merge takes the parts, and none were given",
                             "ckpt eval-merge part0.json part1.json");
  settings.output.check();
  settings.bars.check();
  settings.output.check_spares(settings.files);
  const Bars bars = bars_of(settings.bars);
  if (bars.baseline) settings.output.check_spares({bars.baseline->file}, settings.output.rolling(bars.baseline->kind));
  std::vector<Part> parts;
  for (const std::string& file : settings.files) parts.push_back(read_part(file));
  if (settings.output.predictions) need_predictions(parts, "--predictions");
  if (bars.baseline && !bars.baseline->statements.empty())
    need_predictions(parts, "--baseline " + shell_word(bars.baseline->file));
  Result result = merge(std::move(parts));
  settings.output.try_out();
  for (const std::string& warning : result.warnings) tools::print_warning(warning);
  return deliver(std::move(result), bars, settings.output);
}

tools::Runner define(tools::Arguments& arguments) {
  const auto settings = std::make_shared<MergeSettings>();
  arguments.files(settings->files);
  settings->output.define(arguments);
  settings->bars.define(arguments);
  return [settings](bool) { return run(*settings); };
}

}  // namespace

extern const tools::Command merge_command;
const tools::Command merge_command{
    "eval-merge",
    "PART... [options]",
    "join the partial results of ckpt eval --shard",
    "Joins what ckpt eval --shard i/N printed, in any order, into the result of the whole test set. Parts that\n"
    "overlap, leave samples out, or are of different models or data are refused.\n",
    "ckpt eval-merge part0.json part1.json --min-accuracy 97%",
    "ckpt eval-merge part*.json --json=result.json --junit=result.xml",
    define,
    false,
};

}  // namespace ckpt::eval
