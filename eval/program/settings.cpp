#include "settings.h"

#include <array>
#include <cmath>

#include "console/messages.h"
#include "console/number.h"
#include "console/text.h"
#include "report/fraction.h"

namespace ckpt::eval {
namespace {

std::pair<double, double> parse_normalize(const std::string& text) {
  const std::size_t comma = text.find(',');
  const auto mean = tools::parse_number<double>(std::string_view(text).substr(0, comma));
  const auto deviation =
      comma == std::string::npos ? std::nullopt : tools::parse_number<double>(std::string_view(text).substr(comma + 1));
  if (!mean || !deviation || !std::isfinite(*mean) || !std::isfinite(*deviation) || *deviation <= 0)
    throw tools::usage_error("--normalize takes a mean and a standard deviation above 0, not '" + text + "'",
                             "--normalize 0.1307,0.3081");
  return {*mean, *deviation};
}

Shard parse_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto index = tools::parse_number<std::uint64_t>(std::string_view(text).substr(0, slash));
  const auto count = slash == std::string::npos
                         ? std::nullopt
                         : tools::parse_number<std::uint64_t>(std::string_view(text).substr(slash + 1));
  if (!index || !count || *index >= *count)
    throw tools::usage_error("--shard takes i/N with i from 0 to N-1, not '" + text + "'", "--shard 0/4");
  return {*index, *count};
}

std::uint64_t parse_batch_size(const std::string& text) {
  const auto size = tools::parse_number<std::uint64_t>(text);
  constexpr std::uint64_t most = 1U << 31;
  if (!size || *size == 0 || *size > most)
    throw tools::usage_error("--batch-size takes a number from 1 to " + std::to_string(most) + ", not '" + text + "'",
                             "--batch-size 64");
  return *size;
}

/// `value`, where it is one of `words`; else what was meant.
std::string one_of(const std::string& option, const std::string& value, std::span<const std::string_view> words) {
  std::string all;
  for (const std::string_view word : words) {
    if (word == value) return value;
    all += (all.empty() ? "" : ", ") + std::string(word);
  }
  const auto meant = tools::nearest(value, words);
  throw tools::usage_error(option + " does not know '" + value + "'",
                           meant ? option + " " + std::string(*meant) : option + " takes one of " + all);
}

constexpr std::array<std::string_view, 7> archs{"auto", "fnn", "captcha-resnet", "mlp", "foonet", "net", "torchscript"};
constexpr std::array<std::string_view, 3> splits{"testing", "validating", "training"};
constexpr std::array<std::string_view, 5> activations{"relu", "tanh", "sigmoid", "gelu", "none"};

}  // namespace

void OutputSettings::define(tools::Arguments& arguments) {
  arguments.optional_value("--json", "FILE", "-", json, "one JSON object, to FILE or standard output");
  arguments.optional_value("--junit", "FILE", "-", junit, "a JUnit report for CI");
  arguments.optional_value("--markdown", "FILE", "-", markdown, "for the summary of a CI job");
  arguments.value("--report", "FILE", report, "one HTML page: confusion matrix, classes, the twelve worst samples");
  arguments.value("--predictions", "FILE", predictions, "CSV, a line a sample: index,label,prediction,confidence");
}

void OutputSettings::define_outputs(tools::Arguments& arguments) {
  arguments.value("--outputs", "FILE", outputs, "npz: the model's outputs before any softmax, labels, predictions");
}

void BarSettings::define(tools::Arguments& arguments) {
  arguments.value("--min-accuracy", "X", min_accuracy, "exit 1 below X: 0.97 or 97%");
  arguments.value("--baseline", "OLD", baseline, "compare with a model, an earlier --json or --predictions");
  arguments.value("--max-drop", "X", max_drop, "exit 1 where the baseline is better by more than X: 0.005 or 0.5%");
}

void refuse_empty(const std::string& option, const std::optional<std::string>& file) {
  if (file && file->empty()) throw tools::usage_error(option + ": a file's name is empty", option + "=FILE");
}

void BarSettings::check() const {
  refuse_empty("--baseline", baseline);
  if (max_drop && !baseline)
    throw tools::usage_error("--max-drop needs --baseline",
                             "--baseline last.pt.gz --max-drop " + shell_value(*max_drop));
  if (min_accuracy) (void)parse_fraction(*min_accuracy, "--min-accuracy");
  if (max_drop) (void)parse_fraction(*max_drop, "--max-drop");
}

Bars BarSettings::bars() const {
  Bars out;
  if (min_accuracy) out.min_accuracy = parse_fraction(*min_accuracy, "--min-accuracy");
  if (max_drop) out.max_drop = parse_fraction(*max_drop, "--max-drop");
  if (baseline) out.baseline = read_baseline(*baseline);
  return out;
}

void Settings::define(tools::Arguments& arguments) {
  arguments.files(files);
  arguments.given(given_options);
  arguments.value("--data", "PATH", data, "the test set: IDX files, batches, npz, pictures; else it is looked for");
  arguments.value("--split", "NAME", split,
                  "of batches, MNIST, Keras' arrays: testing (default), validating, training");
  arguments.value("--arch", "NAME", arch, "auto (default), fnn, captcha-resnet, mlp, foonet, net, torchscript");
  arguments.value("--root", "PATH", root, "where the file has the state dict; else it is found");
  arguments.flag("--strict", strict, "load as PyTorch does: no prefix taken off, no device tag changed");
  arguments.value("--activation", "NAME", activation, "of mlp: relu (default), tanh, sigmoid, gelu, none");
  arguments.value("--normalize", "MEAN,STD", normalize, "of mlp and torchscript, for bytes after / 255; default 0,1");
  arguments.value("--device", "DEVICE", device, "auto (default), cpu, cuda, cuda:N, cuda:0,2, cuda:all, mps");
  arguments.value("--batch-size", "N", batch_size, "samples at once; the result does not depend on it");
  arguments.flag("--tf32", tf32, "on GPUs: TF32, and how accuracy changes by it");
  arguments.flag("--bf16", bf16, "on GPUs: bfloat16, and how accuracy changes by it");
  output.define(arguments);
  output.define_outputs(arguments);
  bars.define(arguments);
  arguments.value("--shard", "i/N", shard, "one part of N of the test set: prints a partial result, for eval-merge");
  arguments.flag("--predict", predict,
                 "what the model reads in the pictures that follow MODEL; '-': paths on standard input");
}

void Settings::check_predict() const {
  const std::pair<const char*, bool> for_test_sets[] = {
      {"--data", data.has_value()},
      {"--split", split.has_value()},
      {"--shard", shard.has_value()},
      {"--json", output.json.has_value()},
      {"--junit", output.junit.has_value()},
      {"--markdown", output.markdown.has_value()},
      {"--report", output.report.has_value()},
      {"--predictions", output.predictions.has_value()},
      {"--outputs", output.outputs.has_value()},
      {"--min-accuracy", bars.min_accuracy.has_value()},
      {"--baseline", bars.baseline.has_value()},
      {"--max-drop", bars.max_drop.has_value()},
  };
  for (const auto& [option, given] : for_test_sets)
    if (given)
      throw tools::usage_error("--predict prints what the model reads, and takes no " + std::string(option),
                               "ckpt eval MODEL --data FOLDER evaluates pictures whose names tell what is in them");
}

Options Settings::options() const {
  if (predict) check_predict();
  output.check();
  bars.check();
  if (tf32 && bf16) throw tools::usage_error("--tf32 and --bf16 exclude each other", "--bf16");
  if (shard && (bars.min_accuracy || bars.baseline))
    throw tools::usage_error("a part of the test set has no bar to reach",
                             "ckpt eval-merge PART... --min-accuracy 97%");
  if (shard && (output.json || output.junit || output.markdown || output.report || output.outputs))
    throw tools::usage_error("--shard writes a partial result and nothing else",
                             "ckpt eval-merge PART... --junit=eval.xml --markdown=eval.md");
  refuse_empty("--data", data);
  Options out;
  out.model = files.front();
  if (arch) out.arch = one_of("--arch", *arch, archs);
  out.root = root;
  out.strict = strict;
  out.data = data;
  if (split) out.split = one_of("--split", *split, splits);
  if (activation) out.activation = one_of("--activation", *activation, activations);
  if (normalize) out.normalize = parse_normalize(*normalize);
  if (device) out.device = *device;
  if (batch_size) out.batch_size = parse_batch_size(*batch_size);
  out.tf32 = tf32;
  out.bf16 = bf16;
  if (shard) out.shard = parse_shard(*shard);
  out.predictions = output.predictions || output.outputs || bars.baseline;
  out.outputs = output.outputs.has_value();
  out.worst = output.report ? 12 : 0;
  return out;
}

void Settings::complete_hint(Error& error) const {
  const std::string hint = error.hint(), proposed = hint.substr(0, hint.find(", "));
  if (!hint.starts_with("--arch ")) return;
  std::vector<std::string> without;
  for (const tools::GivenOption& option : given_options)
    if (proposed.find(option.name + " ") != std::string::npos) without.push_back(option.name);
  error.hint(tools::command_text("eval", files, given_options, without) + " " + hint);
}

}  // namespace ckpt::eval
