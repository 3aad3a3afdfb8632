#include "ckpt/average.h"

#include <memory>
#include <tuple>

#include "console/command.h"
#include "console/messages.h"
#include "console/number.h"
#include "console/render.h"
#include "loading.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

struct AverageArguments {
  WritingOptions writing;
  std::optional<std::string> weights, ema;
};

double number_of(const std::string& option, const std::string& text, const std::string& example) {
  if (const auto value = parse_number<double>(text)) return *value;
  throw usage_error(option + " takes " + (option == "--ema" ? "a number" : "numbers with commas between them") +
                        ", not '" + text + "'",
                    example);
}

AverageOptions options_of(const AverageArguments& arguments, std::size_t inputs) {
  AverageOptions options;
  if (arguments.weights && arguments.ema)
    throw usage_error("--weights and --ema contradict each other", "give one of them");
  if (arguments.ema) {
    options.decay = number_of("--ema", *arguments.ema, "--ema 0.999");
    if (!(*options.decay >= 0 && *options.decay <= 1))
      throw usage_error("--ema takes a decay from 0 to 1, not '" + *arguments.ema + "'", "--ema 0.999");
  }
  if (!arguments.weights) return options;
  std::string_view rest = *arguments.weights;
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    options.weights.push_back(number_of("--weights", std::string(rest.substr(0, comma)), "--weights 0.2,0.3,0.5"));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  if (options.weights.size() != inputs)
    throw usage_error(
        "--weights has " + count_text(options.weights.size(), "number") + " for " + count_text(inputs, "file"),
        "one for each IN, such as --weights 0.2,0.3,0.5 for three");
  return options;
}

std::string place_text(const std::string& path) { return path.empty() ? "the root" : "'" + path + "'"; }

int run(const AverageArguments& arguments, bool quiet) {
  std::vector<std::string> inputs;
  const Job job = plan_many(arguments.writing, "average", inputs);
  const AverageOptions options = options_of(arguments, inputs.size());
  std::vector<Checkpoint> checkpoints;
  for (const std::string& input : inputs) checkpoints.push_back(load_with_warnings(input));
  const std::size_t told = checkpoints.back().warnings.size();
  Checkpoint result;
  AverageReport report;
  with_part_hint([&] { std::tie(result, report) = average(std::move(checkpoints), options); });
  for (std::size_t i = told; i < result.warnings.size(); ++i) print_warning(result.warnings[i]);
  for (const auto& [file, path, last_path] : report.elsewhere)
    if (!quiet)
      print_note(file + ": " + place_text(path) + " is averaged with " + place_text(last_path) + " of " +
                 inputs.back());
  if (!quiet && !report.dtypes.empty())
    print_note("not of the same dtype in all files, and written as in " + inputs.back() + ": " +
               list_text(report.dtypes, report.dtypes.size()));
  if (!quiet && !report.kept.empty())
    print_note("not averaged but taken from " + inputs.back() + ": " + list_text(report.kept, report.kept.size()));
  std::vector<std::string> done{count_text(report.tensors, "tensor") + " averaged over " +
                                count_text(inputs.size(), "file") + (options.decay ? ", decay " + *arguments.ema : "") +
                                (options.weights.empty() ? "" : ", weights " + *arguments.weights)};
  write_output(std::move(result), job, done, quiet);
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<AverageArguments>();
  arguments.value("--weights", "W,W,...", options->weights, "one for each IN; what counts is its share of their sum");
  arguments.value("--ema", "DECAY", options->ema,
                  "exponential average in the order of the files: DECAY * average + (1 - DECAY) * next");
  define_writing_options(arguments, options->writing, {.in_place = false, .several = true});
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command average_command;
const Command average_command{
    "average",
    "IN... OUT [options]",
    "the mean of several checkpoints of a model, weighted or exponential",
    "Averages the floating and complex tensors of the files' state dicts, in float64; the result is cast to\n"
    "the dtype of the last file, as Tensor.to() does it. Everything else is the last file's: integers, optimizer\n"
    "state, other values. Names and shapes must agree (status 3).\n",
    "ckpt average epoch-8.pt epoch-9.pt epoch-10.pt soup.pt",
    "ckpt average step-*.pt ema.pt --ema 0.999",
    define,
};

}  // namespace ckpt::tools
