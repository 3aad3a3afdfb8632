#include "ckpt/diff.h"

#include <cmath>
#include <memory>

#include "console/command.h"
#include "console/messages.h"
#include "console/number.h"
#include "diff_report.h"
#include "loading.h"

namespace ckpt::tools {
namespace {

struct Options {
  std::vector<std::string> files, ignore;
  std::optional<std::string> rtol, atol;
  bool json = false;
  ReadOptions reading;
};

std::optional<double> tolerance(const std::string& option, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto value = parse_number<double>(*text);
  if (value && std::isfinite(*value) && *value >= 0) return value;
  throw usage_error(option + " takes a number of 0 or more, not '" + *text + "'", "for example " + option + " 1e-5");
}

DiffOptions diff_options(const Options& options) {
  DiffOptions out;
  out.rtol = tolerance("--rtol", options.rtol);
  out.atol = tolerance("--atol", options.atol);
  for (const std::string& what : options.ignore) {
    if (what == "devices")
      out.ignore_devices = true;
    else if (what == "dtypes")
      out.ignore_dtypes = true;
    else if (what == "other")
      out.ignore_other = true;
    else
      throw usage_error("--ignore does not know '" + what + "'", "--ignore takes devices, dtypes or other");
  }
  return out;
}

std::vector<std::string> ignored_words(const DiffOptions& options) {
  std::vector<std::string> words;
  if (options.ignore_devices) words.emplace_back("devices");
  if (options.ignore_dtypes) words.emplace_back("dtypes");
  if (options.ignore_other) words.emplace_back("other");
  return words;
}

int run(const Options& options, bool quiet) {
  const DiffOptions how = diff_options(options);
  if (options.files.size() != 2)
    throw usage_error("diff takes two files, and " + std::to_string(options.files.size()) +
                          (options.files.size() == 1 ? " was given" : " were given"),
                      "ckpt diff a.pt b.pt");
  const std::string &file_a = options.files[0], &file_b = options.files[1];
  if (file_a == "-" && file_b == "-") throw usage_error("standard input is one file", "ckpt diff a.pt -");
  const Checkpoint a = load_with_warnings(file_a, options.reading), b = load_with_warnings(file_b, options.reading);
  const DiffReport report{file_a, file_b, &a, &b, ignored_words(how), diff(a, b, how)};
  finish_input(a, file_a);
  finish_input(b, file_b);
  print(options.json ? diff_json(report) : diff_text(report, quiet));
  return report.diff.same() ? exit_done : exit_no;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.files(options->files);
  arguments.value("--rtol", "R", options->rtol, "values may differ by R times that of B (torch.allclose)");
  arguments.value("--atol", "T", options->atol, "values may differ by T");
  arguments.values("--ignore", "WHAT", options->ignore, "devices, dtypes or other (all but tensors); may be repeated");
  arguments.flag("--json", options->json, "one JSON object, on one line");
  define_reading_options(arguments, options->reading);
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command diff_command;
const Command diff_command{
    "diff",
    "A B [options]",
    "what two checkpoints differ in: names, shapes, values, all else",
    "Compares two checkpoints by what they mean: tensors by name (shape, dtype, device, every bit of their\n"
    "values, shared storage), and every other value. Format, compression and pickle protocol make no\n"
    "difference. Exit status 0 where nothing differs, 1 where anything does.\n",
    "ckpt diff model.pt model.cpu.pt --ignore devices",
    "ckpt diff before.pt after.pt --rtol 1e-5 --atol 1e-8 --json",
    define,
};

}  // namespace ckpt::tools
