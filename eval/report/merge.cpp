#include <algorithm>
#include <nlohmann/json.hpp>

#include "ckpt/error.h"
#include "console/messages.h"
#include "console/render.h"
#include "metrics/join.h"
#include "report/partial.h"

namespace ckpt::eval {
namespace {

std::uint64_t end_of(const Part& part) { return part.first + part.result.counts.samples; }

/// "samples 0 to 2,499"
std::string range_text(std::uint64_t first, std::uint64_t end) {
  if (end - first == 1) return "sample " + tools::count_text(first);
  return "samples " + tools::count_text(first) + " to " + tools::count_text(end - 1);
}

std::string names_text(const Part& a, const Part& b) { return a.file + " and " + b.file; }

void check_same(const Part& a, const Part& b) {
  if (const auto found = difference(a.result, b.result))
    throw tools::usage_error(
        names_text(a, b) + " are parts of different " + found->what + ": " + found->one + " and " + found->other,
        "parts of one result are made from the same model and data, by the same version of ckpt");
}

/// What `ckpt eval` would not choose by itself.
std::string settings_text(const std::vector<Part>& parts) {
  const Result& any = parts.front().result;
  const double mean = any.signature.mean, std = any.signature.std;
  std::string text;
  if (parts.front().split != "testing") text += " --split " + shell_value(parts.front().split);
  if (parts.front().root) text += " --root " + shell_value(*parts.front().root);
  if (any.arch == "mlp") text += " --arch mlp --activation " + shell_value(any.activation);
  if (any.arch == "torchscript") text += " --arch torchscript";
  const bool is_free = any.arch == "mlp" || any.arch == "torchscript";
  if (is_free && (mean != 0 || std != 1))
    text += " --normalize " + nlohmann::json(mean).dump() + "," + nlohmann::json(std).dump();
  if (any.precision != "float32") text += " --" + shell_value(any.precision);
  const auto has_labels = [](const Part& part) { return !part.result.predictions.labels.empty(); };
  if (std::any_of(parts.begin(), parts.end(), has_labels)) text += " --predictions FILE.csv";
  return text;
}

/// The command that makes the samples which are missing, where the parts tell.
std::string missing_hint(const std::vector<Part>& parts, std::uint64_t first) {
  const Result& any = parts.front().result;
  const std::uint64_t count = any.shard->count;
  const std::string command =
      "ckpt eval " + shell_word(any.model) + " --data " + shell_word(any.data) + settings_text(parts);
  const bool alike =
      std::all_of(parts.begin(), parts.end(), [&](const Part& part) { return part.result.shard->count == count; });
  if (!alike) return "make the part that is missing: " + command + " --shard i/N";
  // The last shard that begins there: those before it are empty.
  __extension__ using Wide = unsigned __int128;
  const Wide index = ((Wide{first} + 1) * count - 1) / any.data_samples;
  return "make the part that is missing: " + command + " --shard " + std::to_string(static_cast<std::uint64_t>(index)) +
         "/" + std::to_string(count);
}

/// The parts, in the order of their samples, cover all of them once.
void check_tiling(const std::vector<Part>& parts) {
  const auto missing = [&](std::uint64_t first, std::uint64_t end) {
    return tools::usage_error(range_text(first, end) + " of " + parts.front().result.data + " are in no part",
                              missing_hint(parts, first));
  };
  std::uint64_t done = 0;
  const Part* last = nullptr;  // that has samples
  for (const Part& part : parts) {
    if (part.result.counts.samples == 0) continue;
    if (part.first < done)
      throw tools::usage_error(
          names_text(*last, part) + " both hold " + range_text(part.first, std::min(done, end_of(part))),
          "name each part once, and no part that another one covers");
    if (part.first > done) throw missing(done, part.first);
    done = end_of(part);
    last = &part;
  }
  const std::uint64_t all = parts.front().result.data_samples;
  if (done < all) throw missing(done, all);
}

}  // namespace

bool has_predictions(const Part& part) {
  return part.result.counts.samples == 0 || !part.result.predictions.labels.empty();
}

Result merge(std::vector<Part> parts) {
  if (parts.empty()) throw tools::usage_error("there are no parts to join", "ckpt eval-merge part0.json part1.json");
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.first != b.first ? a.first < b.first : a.result.counts.samples < b.result.counts.samples;
  });
  for (const Part& part : parts) check_same(parts.front(), part);
  check_tiling(parts);
  const bool predicted = std::all_of(parts.begin(), parts.end(), has_predictions);
  Result out = parts.front().result;
  out.shard.reset();
  for (std::size_t at = 1; at < parts.size(); ++at) join(out, parts[at].result);
  if (!predicted) out.predictions = {};
  return out;
}

}  // namespace ckpt::eval
