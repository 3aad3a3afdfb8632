#include "ckpt/stats.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "ckpt/formats.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/same_file.h"
#include "console/text_file.h"
#include "loading.h"
#include "stats_report.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

constexpr int most_bins = 1000;
constexpr std::size_t default_bins = 20, plotted_bins = 60;

struct StatsArguments {
  std::vector<std::string> files, keys;
  std::optional<std::string> root, bins, plot;
  bool json = false;
  ReadOptions reading;
};

bool is_no_svg(const std::string& name) {
  std::string suffix = std::filesystem::path(name).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.empty() || !(suffix.empty() || suffix == ".svg");
}

int stats_of(const StatsArguments& options, const std::string& file, bool quiet) {
  StatsOptions how{options.root.value_or(""), options.keys, options.plot ? plotted_bins : default_bins};
  if (options.bins) how.bins = static_cast<std::size_t>(number_option("--bins", *options.bins, 1, most_bins, 50));
  StatsReport report{file, {}, false, {}};
  const std::string another = "ckpt stats " + shell_word(file) + " --plot OTHER.svg";
  try {
    const Checkpoint checkpoint = load_with_warnings(file, options.reading);
    std::vector<std::string> read = files_of(checkpoint);
    read.push_back(file);
    if (options.plot && std::any_of(read.begin(), read.end(),
                                    [&](const std::string& name) { return is_same_file(name, *options.plot); }))
      throw usage_error("--plot would replace the file that is read", another);
    if (options.plot && is_no_svg(*options.plot))
      throw usage_error("--plot writes SVG, which '" + *options.plot + "' is no name for", another);
    report.format = checkpoint.format;
    report.gzip = checkpoint.gzip;
    report.stats = stats(checkpoint, how);
    finish_input(checkpoint, file);
  } catch (Error& error) {
    if (error.code() == ErrorCode::invalid_argument && error.hint().empty())
      error.hint("ckpt inspect " + shell_word(file) + " lists the state dicts, for --root PATH");
    error.in(file);
    throw;
  }
  if (options.plot) write_text_file(*options.plot, stats_svg(report));
  if (options.json) {
    print_stats_json(report);
    return exit_done;
  }
  if (file != options.files.front()) print("\n");
  constexpr std::size_t most_paragraphs = 8;
  const std::size_t rows = report.stats.tensors.size();
  print_stats(report, rows == 1 || (!options.keys.empty() && rows <= most_paragraphs), quiet);
  if (!quiet && !options.keys.empty() && rows == 0) print_note(file + ": no tensor's name matches --keys");
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<StatsArguments>();
  arguments.files(options->files);
  arguments.values("--keys", "GLOB", options->keys,
                   "only tensors whose name matches; * crosses dots; may be repeated; of few, large histograms");
  arguments.value("--root", "PATH", options->root,
                  "only what lies below PATH, under names relative to it; 'auto' finds the state dict");
  arguments.value("--bins", "N", options->bins, "of the histograms, 1 to 1000; default 20, of --plot 60");
  arguments.value("--plot", "FILE.svg", options->plot, "a picture of the histograms, for a browser");
  arguments.flag("--json", options->json, "one JSON object a file, on one line");
  define_reading_options(arguments, options->reading);
  arguments.outputs(
      [options] { return options->plot ? std::vector<std::string>{*options->plot} : std::vector<std::string>(); });
  return [options](bool quiet) {
    if (options->files.empty()) throw usage_error("stats needs a FILE", "ckpt stats model.pt");
    if (options->plot && options->files.size() > 1)
      throw usage_error("--plot is a picture of one FILE, and " + std::to_string(options->files.size()) + " were given",
                        "ckpt stats model.pt --plot model.svg");
    if (options->plot == "-")
      throw usage_error("--plot takes the name of a file: standard output is the table's",
                        "ckpt stats model.pt --plot model.svg");
    return for_each_file(options->files, [&](const std::string& file) { return stats_of(*options, file, quiet); });
  };
}

}  // namespace

extern const Command stats_command;
const Command stats_command{
    "stats",
    "FILE... [options]",
    "min, max, mean, std, norm, zeros, NaN and a histogram a tensor",
    "What the numbers look like: PyTorch's figures of tensor.to(float64), and a histogram. NaN and infinities\n"
    "are counted and left out of everything else. Of complex numbers: their absolute values.\n",
    "ckpt stats model.pt --keys '*.weight'",
    "ckpt stats model.pt --plot model.svg --json",
    define,
};

}  // namespace ckpt::tools
