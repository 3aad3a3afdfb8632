#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "console/text.h"
#include "metrics/interval.h"
#include "metrics/tally.h"
#include "report/report.h"
#include "report/words.h"

namespace ckpt::eval {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
Json text(const std::string& value) { return tools::valid_utf8(value); }

Json tally_json(const Tally& tally) {
  return {{"samples", tally.samples}, {"correct", tally.correct}, {"accuracy", number(tally.accuracy())}};
}

Json classes_json(const Result& result) {
  Json out = Json::array();
  for (const Tally& tally : per_class(result.signature, result.counts)) {
    Json one = Json::object();
    one["class"] = result.signature.class_name(static_cast<std::int64_t>(out.size()));
    one.update(tally_json(tally));
    out.push_back(std::move(one));
  }
  return out;
}

Json positions_json(const Result& result) {
  Json out = Json::array();
  for (const Tally& tally : per_position(result.signature, result.counts)) {
    Json one = Json::object();
    one["position"] = out.size() + 1;
    one.update(tally_json(tally));
    out.push_back(std::move(one));
  }
  return out;
}

std::string_view kind_name(BaselineKind kind) {
  return kind == BaselineKind::model ? "model" : kind == BaselineKind::json ? "json" : "predictions";
}

Json baseline_json(const std::optional<Comparison>& baseline) {
  if (!baseline) return {};
  Json out = {{"file", text(baseline->file)},
              {"kind", kind_name(baseline->kind)},
              {"accuracy", number(baseline->accuracy)},
              {"drop", number(baseline->drop)},
              {"same_data", baseline->same_data ? Json(*baseline->same_data) : Json()},
              {"lost", nullptr},
              {"gained", nullptr},
              {"p", nullptr}};
  if (baseline->pairs) {
    out["lost"] = baseline->pairs->lost;
    out["gained"] = baseline->pairs->gained;
    out["p"] = number(*baseline->p);
  }
  return out;
}

Json verdict_json(const Verdict& verdict) {
  Json out = {{"passed", verdict.passed()}, {"failures", Json::array()}};
  for (const Verdict::Check& check : verdict.checks)
    if (!check.passed) out["failures"].push_back(text(check.sentence));
  return out;
}

}  // namespace

std::string json_text(const Result& result, const Verdict& verdict) {
  const Interval interval = wilson(result.counts.correct, result.counts.samples);
  Json out = Json::object();
  out["model"] = text(result.model);
  out["digest"] = text(result.digest);
  out["data"] = text(result.data);
  out["data_digest"] = text(result.data_digest);
  out["version"] = text(result.version);
  out["arch"] = text(result.arch);
  out["device"] = text(result.device);
  out["precision"] = text(result.precision);
  out["samples"] = result.counts.samples;
  out["correct"] = result.counts.correct;
  out["accuracy"] = number(result.counts.accuracy());
  out["interval"] = {interval.low, interval.high};
  out["per_class"] = classes_json(result);
  if (result.signature.positions > 1) out["per_position"] = positions_json(result);
  out["seconds"] = {{"start", number(result.seconds.start)},
                    {"read", number(result.seconds.read)},
                    {"upload", number(result.seconds.upload)},
                    {"run", number(result.seconds.run)}};
  out["samples_per_second"] = number(samples_per_second(result));
  out["warnings"] = Json::array();
  for (const std::string& warning : result.warnings) out["warnings"].push_back(text(warning));
  out["not_finite"] = result.counts.not_finite;
  out["memory"] = {{"host", result.host_peak}, {"gpu", result.gpu_peak}};
  out["ranks"] = result.ranks;
  out["shard"] = nullptr;
  if (result.shard) out["shard"] = {{"index", result.shard->index}, {"count", result.shard->count}};
  out["data_samples"] = result.data_samples;
  out["baseline"] = baseline_json(verdict.baseline);
  out["verdict"] = verdict_json(verdict);
  return tools::visible_json(out.dump()) + "\n";
}

}  // namespace ckpt::eval
