// Earlier results as baselines.
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "report/files.h"
#include "report/json_depth.h"
#include "report/verdict.h"

namespace ckpt::eval {
namespace {

using Json = nlohmann::json;

Baseline parse_json(const std::string& text) {
  check_json_depth(text);
  const Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_object())
    throw Error(ErrorCode::corrupt, "is no JSON object").expected("what ckpt eval --json printed");
  if (parsed.contains("partial"))
    throw Error(ErrorCode::unsupported, "is a partial result")
        .hint("join the parts first: ckpt eval-merge PART… --json");
  Baseline out;
  const Json accuracy = parsed.value("accuracy", Json());
  out.accuracy = accuracy.is_number() ? accuracy.get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (out.accuracy < 0 || out.accuracy > 1)
    throw Error(ErrorCode::corrupt, "has the accuracy " + accuracy.dump()).expected("a number from 0 to 1");
  const Json digest = parsed.value("data_digest", Json());
  if (digest.is_string()) out.data_digest = digest.get<std::string>();
  return out;
}

Baseline parse_predictions(const std::string& text, const std::string& file) {
  Baseline out;
  out.statements = parse_csv(text, file);
  Counts counts;
  counts.samples = out.statements.size();
  for (const Statement& statement : out.statements) counts.correct += statement.label == statement.prediction ? 1 : 0;
  out.accuracy = counts.accuracy();
  return out;
}

std::string hint_for(const std::string& file, BaselineKind kind) {
  return "make the baseline anew: ckpt eval MODEL --data PATH " +
         std::string(kind == BaselineKind::json ? "--json=" : "--predictions ") + shell_word(file);
}

}  // namespace

BaselineKind baseline_kind(const std::string& file) {
  std::array<std::byte, 256> bytes{};
  const std::size_t size = open_file(file)->read_at(0, bytes);
  const std::string head(reinterpret_cast<const char*>(bytes.data()), size);
  if (is_csv(head)) return BaselineKind::predictions;
  // A safetensors file may begin with a brace, but zeros follow.
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && head[first] == '{' && head.find('\0') == std::string::npos;
  return json ? BaselineKind::json : BaselineKind::model;
}

Baseline read_baseline(const std::string& file, BaselineKind kind) {
  try {
    const std::string text = read_text(file);
    Baseline out = kind == BaselineKind::json ? parse_json(text) : parse_predictions(text, file);
    out.kind = kind;
    out.file = file;
    return out;
  } catch (Error& error) {
    if (error.hint().empty() && error.code() != ErrorCode::io) error.hint(hint_for(file, kind));
    throw error.in(file);
  }
}

}  // namespace ckpt::eval
