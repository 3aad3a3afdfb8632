#include "report/partial.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "console/text.h"

namespace ckpt::eval {
namespace {

using Json = nlohmann::ordered_json;

// Floats are written as floats, in a third of the digits that they would need as doubles.
template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 32> buffer{};
  out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr);
}

void append_number(std::string& out, std::optional<float> number) {
  if (std::isfinite(*number))
    append_number(out, *number);
  else
    out += "null";
}

/// Written by hand: a tree of a million predictions would take many times their size.
template <class Number, class Written = Number>
void append_list(std::string& out, std::string_view name, const std::vector<Number>& numbers) {
  out.append(",\"").append(name).append("\":[");
  for (const Number& number : numbers) {
    if (&number != numbers.data()) out += ',';
    append_number(out, Written(number));
  }
  out += ']';
}

/// [position, label, read as, how often] for each cell that is not zero.
Json sparse_confusion(const Signature& signature, const Counts& counts) {
  const auto classes = static_cast<std::size_t>(signature.classes);
  Json out = Json::array();
  for (std::size_t at = 0; at < counts.confusion.size(); ++at)
    if (counts.confusion[at] > 0)
      out.push_back(Json::array({at / classes / classes, at / classes % classes, at % classes, counts.confusion[at]}));
  return out;
}

}  // namespace

std::string partial_text(const Result& result, const Options& options) {
  const auto text = [](const std::string& value) { return Json(tools::valid_utf8(value)); };
  const Shard shard = result.shard.value_or(Shard{});
  const Signature& signature = result.signature;
  Json out = Json::object();
  out["partial"] = 2;  // of this form
  out["version"] = text(result.version);
  out["model"] = text(result.model);
  if (options.root) out["root"] = text(*options.root);
  out["digest"] = text(result.digest);
  out["arch"] = text(result.arch);
  out["activation"] = text(result.activation);
  out["layers"] = Json::array();
  for (const std::string& layer : result.layers) out["layers"].push_back(text(layer));
  out["precision"] = text(result.precision);
  out["signature"] = {{"input", signature.input},     {"mean", signature.mean},
                      {"std", signature.std},         {"positions", signature.positions},
                      {"classes", signature.classes}, {"alphabet", signature.alphabet}};
  out["data"] = text(result.data);
  out["split"] = text(options.split);
  out["data_digest"] = result.data_digest;
  out["data_samples"] = result.data_samples;
  out["data_fingerprint"] = result.data_fingerprint;
  out["shard"] = {{"index", shard.index}, {"count", shard.count}};
  out["first"] = shard.begin(result.data_samples);
  out["samples"] = result.counts.samples;
  out["correct"] = result.counts.correct;
  out["not_finite"] = result.counts.not_finite;
  out["confusion"] = sparse_confusion(signature, result.counts);
  out["device"] = text(result.device);
  out["machine"] = text(result.machine);
  out["ranks"] = result.ranks;
  out["seconds"] = {{"start", result.seconds.start},
                    {"read", result.seconds.read},
                    {"upload", result.seconds.upload},
                    {"run", result.seconds.run}};
  out["memory"] = {{"host", result.host_peak}, {"gpu", result.gpu_peak}};
  out["warnings"] = Json::array();
  for (const std::string& warning : result.warnings) out["warnings"].push_back(text(warning));
  std::string json = tools::visible_json(out.dump());
  const Predictions& all = result.predictions;
  if (!all.labels.empty()) {
    json.pop_back();
    append_list(json, "labels", all.labels);
    append_list(json, "predicted", all.predicted);
    append_list<float, std::optional<float>>(json, "confidence", all.confidence);
    append_list<float, std::optional<float>>(json, "truth", all.truth);
    json += '}';
  }
  return json + "\n";
}

}  // namespace ckpt::eval
