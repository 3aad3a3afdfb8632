// Earlier results as baselines.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "report/files.h"
#include "report/json_depth.h"
#include "report/verdict.h"

namespace ckpt::eval {
namespace {

using Json = nlohmann::json;

/// None where it is the index of a model in several files.
std::optional<Baseline> parse_json(const std::string& text) {
  check_json_depth(text);
  const Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_object())
    throw Error(ErrorCode::corrupt, "is no JSON object").expected("what ckpt eval --json printed");
  if (parsed.contains("partial"))
    throw Error(ErrorCode::unsupported, "is a partial result")
        .hint("join the parts first: ckpt eval-merge PART… --json");
  if (parsed.contains("weight_map") && !parsed.contains("accuracy")) return std::nullopt;
  Baseline out;
  out.kind = BaselineKind::json;
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
  out.kind = BaselineKind::predictions;
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

BaselineKind kind_of(const ByteSource& source) {
  std::array<std::byte, 256> bytes{};
  const std::size_t size = source.read_at(0, bytes);
  const std::string head(reinterpret_cast<const char*>(bytes.data()), size);
  if (is_csv(head)) return BaselineKind::predictions;
  // A safetensors file may begin with a brace, but zeros follow.
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && head[first] == '{' && head.find('\0') == std::string::npos;
  return json ? BaselineKind::json : BaselineKind::model;
}

/// 0 where that cannot be told: who opens it says why.
mode_t mode_of(const std::string& file) {
  struct stat status {};
  const int failed = file == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(file.c_str(), &status);
  return failed == 0 ? status.st_mode : 0;
}

}  // namespace

std::optional<Baseline> read_baseline(const std::string& file) {
  const mode_t mode = mode_of(file);
  if (S_ISDIR(mode)) return std::nullopt;
  const ByteSourcePtr source = open_file(file);
  const BaselineKind kind = kind_of(*source);
  try {
    std::optional<Baseline> out;
    if (kind == BaselineKind::json) out = parse_json(read_text(*source));
    if (kind == BaselineKind::predictions) out = parse_predictions(read_text(*source), file);
    if (out) out->file = file;
    if (!out && !S_ISREG(mode))
      throw Error(ErrorCode::invalid_argument, "is a model that comes through a pipe")
          .expected("a file: it is opened again once the new model has run")
          .hint("keep it in a file first: cat > old.pt");
    return out;
  } catch (Error& error) {
    if (error.hint().empty() && error.code() != ErrorCode::io) error.hint(hint_for(file, kind));
    throw error.in(file);
  }
}

}  // namespace ckpt::eval
