#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "console/render.h"
#include "datasets/dataset.h"
#include "metrics/signature.h"
#include "metrics/tally.h"
#include "report/files.h"
#include "report/json_depth.h"
#include "report/partial.h"

namespace ckpt::eval {
namespace {

using Json = nlohmann::json;

/// An object of which every key that is asked for must be there, and of the right type.
class Fields {
 public:
  explicit Fields(const Json& object, std::string path = {}) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) throw wrong(path_.empty() ? "it" : path_, object, "an object");
  }

  [[nodiscard]] const Json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) throw Error(ErrorCode::corrupt, "has no \"" + path_ + key + "\"");
    return *found;
  }
  [[nodiscard]] Fields object(const char* key) const { return Fields(at(key), path_ + key + "."); }
  [[nodiscard]] const Json& array(const char* key) const {
    if (!at(key).is_array()) throw wrong(path_ + key, at(key), "an array");
    return at(key);
  }
  [[nodiscard]] std::uint64_t count(const char* key, std::uint64_t most = UINT64_MAX) const {
    return as_count(at(key), path_ + key, most);
  }
  [[nodiscard]] double number(const char* key) const {
    if (!at(key).is_number()) throw wrong(path_ + key, at(key), "a number");
    return at(key).get<double>();
  }
  [[nodiscard]] std::string text(const char* key) const {
    if (!at(key).is_string()) throw wrong(path_ + key, at(key), "a string");
    return at(key).get<std::string>();
  }
  [[nodiscard]] std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> out;
    for (const Json& one : array(key)) {
      if (!one.is_string()) throw wrong(std::string("an entry of ") + key, one, "a string");
      out.push_back(one.get<std::string>());
    }
    return out;
  }

  [[nodiscard]] static std::uint64_t as_count(const Json& value, const std::string& what, std::uint64_t most) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
      throw wrong(what, value, "an integer from 0 to " + tools::count_text(most));
    return value.get<std::uint64_t>();
  }
  [[nodiscard]] static Error wrong(const std::string& what, const Json& value, const std::string& expected) {
    // A string or a list may be of any length.
    const std::string found = value.is_string()       ? "a string"
                              : value.is_structured() ? "an " + std::string(value.type_name())
                                                      : value.dump();
    return Error(ErrorCode::corrupt, what + " is " + found).expected(expected);
  }

 private:
  const Json& object_;
  std::string path_;
};

Signature read_signature(const Fields& fields) {
  Signature out;
  constexpr std::uint64_t most = limits::confusion_cells;
  for (const Json& side : fields.array("input"))
    out.input.push_back(static_cast<std::int64_t>(Fields::as_count(side, "signature.input", most)));
  out.mean = fields.number("mean");
  out.std = fields.number("std");
  out.positions = static_cast<std::int64_t>(fields.count("positions", most));
  out.classes = static_cast<std::int64_t>(fields.count("classes", most));
  check_signature(out);
  out.alphabet = fields.text("alphabet");
  const bool is_plain =
      std::all_of(out.alphabet.begin(), out.alphabet.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!out.alphabet.empty() && (!is_plain || out.alphabet.size() != static_cast<std::size_t>(out.classes)))
    throw Error(ErrorCode::corrupt, "signature.alphabet is none")
        .expected("a character of ASCII for each class, or \"\"");
  return out;
}

Error contradiction(const std::string& found) { return Error(ErrorCode::corrupt, "contradicts itself: " + found); }

/// Each position has read each finite sample once at most, and all correct samples right; one alone, no others.
void read_confusion(const Fields& fields, const Signature& signature, Counts& counts) {
  const auto classes = static_cast<std::uint64_t>(signature.classes);
  const auto positions = static_cast<std::uint64_t>(signature.positions);
  counts.confusion.assign(positions * classes * classes, 0);
  std::vector<std::uint64_t> left(positions, counts.samples - counts.not_finite), right(positions, 0);
  for (const Json& cell : fields.array("confusion")) {
    if (!cell.is_array() || cell.size() != 4)
      throw Fields::wrong("a cell of the confusion", cell, "an array of four integers");
    const std::uint64_t position = Fields::as_count(cell[0], "a position of the confusion", positions - 1);
    const std::uint64_t label = Fields::as_count(cell[1], "a label of the confusion", classes - 1);
    const std::uint64_t read = Fields::as_count(cell[2], "a class of the confusion", classes - 1);
    const std::uint64_t count = Fields::as_count(cell[3], "a count of the confusion", UINT64_MAX);
    if (count > left[position]) throw contradiction("its confusion has more samples than it");
    left[position] -= count;
    counts.confusion[(position * classes + label) * classes + read] += count;
    if (label == read) right[position] += count;
  }
  for (const std::uint64_t count : right)
    if (count < counts.correct) throw contradiction("more samples are correct than its confusion says");
  if (positions == 1 && right.front() > counts.correct)
    throw contradiction("fewer samples are correct than its confusion says");
}

/// An array of that many entries.
const Json& list_of(const Fields& fields, const char* key, std::uint64_t size) {
  const Json& list = fields.array(key);
  if (list.size() == size) return list;
  throw contradiction(std::string(key) + " has " + tools::count_text(list.size(), "number"))
      .expected(tools::count_text(size));
}

std::vector<std::int32_t> read_classes(const Fields& fields, const char* key, std::uint64_t size,
                                       std::int64_t classes) {
  const Json& list = list_of(fields, key, size);
  std::vector<std::int32_t> out;
  out.reserve(list.size());
  for (const Json& one : list) {
    if (!one.is_number_integer() || (one.is_number_unsigned() && one.get<std::uint64_t>() > INT32_MAX) ||
        one.get<std::int64_t>() < -1 || one.get<std::int64_t>() >= classes)
      throw Fields::wrong(std::string("an entry of ") + key, one, "a class or -1");
    out.push_back(one.get<std::int32_t>());
  }
  return out;
}

std::vector<float> read_floats(const Fields& fields, const char* key, std::uint64_t size) {
  const Json& list = list_of(fields, key, size);
  std::vector<float> out;
  out.reserve(list.size());
  for (const Json& one : list) {
    const double value = one.is_null()     ? std::numeric_limits<double>::quiet_NaN()
                         : one.is_number() ? one.get<double>()
                                           : -1;
    if (value < 0 || value > 2) throw Fields::wrong(std::string("an entry of ") + key, one, "a probability or null");
    out.push_back(static_cast<float>(value));
  }
  return out;
}

void read_counts(const Fields& fields, Part& part) {
  Result& out = part.result;
  out.data_samples = fields.count("data_samples");
  out.counts.samples = fields.count("samples", out.data_samples);
  part.first = fields.count("first", out.data_samples - out.counts.samples);
  out.counts.not_finite = fields.count("not_finite", out.counts.samples);
  out.counts.correct = fields.count("correct", out.counts.samples - out.counts.not_finite);
  const Fields shard = fields.object("shard");
  out.shard = Shard{shard.count("index"), shard.count("count")};
  if (out.shard->count == 0 || out.shard->index >= out.shard->count)
    throw contradiction("shard " + std::to_string(out.shard->index) + " of " + std::to_string(out.shard->count));
  if (part.first != out.shard->begin(out.data_samples) ||
      part.first + out.counts.samples != out.shard->end(out.data_samples))
    throw contradiction("its samples are not those of its shard");
  out.signature = read_signature(fields.object("signature"));
  read_confusion(fields, out.signature, out.counts);
}

void read_predictions(const Json& parsed, const Fields& fields, Part& part) {
  if (!parsed.contains("labels")) return;
  Result& out = part.result;
  const std::uint64_t samples = out.counts.samples;
  // No list is longer than the text: the product cannot be met where it wraps.
  const auto positions = static_cast<std::uint64_t>(out.signature.positions);
  if (samples > limits::evaluation_bytes) throw contradiction("it has fewer predictions than samples");
  out.predictions.first = part.first;
  out.predictions.labels = read_classes(fields, "labels", samples * positions, out.signature.classes);
  out.predictions.predicted = read_classes(fields, "predicted", samples * positions, out.signature.classes);
  out.predictions.confidence = read_floats(fields, "confidence", samples);
  out.predictions.truth = read_floats(fields, "truth", samples);
  const Counts said = counts_of(out.signature, out.predictions);
  if (said.correct != out.counts.correct || said.not_finite != out.counts.not_finite ||
      said.confusion != out.counts.confusion)
    throw contradiction("its predictions are others than it counts");
}

Part read_fields(const Json& parsed) {
  if (!parsed.is_object() || !parsed.contains("partial"))
    throw Error(ErrorCode::unsupported, "is no partial result").expected("what ckpt eval --shard i/N writes");
  const Fields fields(parsed);
  if (fields.count("partial") != 2)
    throw Error(ErrorCode::unsupported, "is a partial result of form " + parsed["partial"].dump())
        .expected("form 2")
        .hint("make all parts, and join them, with the same version of ckpt");
  Part part;
  Result& out = part.result;
  out.version = fields.text("version");
  out.model = fields.text("model");
  if (parsed.contains("root")) part.root = fields.text("root");
  if (parsed.contains("split")) part.split = fields.text("split");
  out.digest = fields.text("digest");
  out.arch = fields.text("arch");
  out.activation = fields.text("activation");
  if (parsed.contains("layers")) out.layers = fields.texts("layers");
  out.precision = fields.text("precision");
  out.data = fields.text("data");
  out.data_digest = DataDigest::from_text(fields.text("data_digest")).text();
  out.data_fingerprint = DataDigest::from_text(fields.text("data_fingerprint")).text();
  read_counts(fields, part);
  out.device = fields.text("device");
  out.machine = fields.text("machine");
  out.ranks = fields.count("ranks", std::numeric_limits<std::uint32_t>::max());
  const Fields seconds = fields.object("seconds"), memory = fields.object("memory");
  out.seconds = {seconds.number("start"), seconds.number("read"), seconds.number("upload"), seconds.number("run")};
  out.host_peak = memory.count("host");
  out.gpu_peak = memory.count("gpu");
  out.warnings = fields.texts("warnings");
  read_predictions(parsed, fields, part);
  return part;
}

}  // namespace

Part parse_part(const std::string& text, const std::string& file) {
  try {
    check_json_depth(text);
    const Json parsed = Json::parse(text, nullptr, false);
    if (parsed.is_discarded())
      throw Error(ErrorCode::corrupt, "is no JSON").expected("what ckpt eval --shard i/N writes");
    Part part = read_fields(parsed);
    part.file = file;
    return part;
  } catch (Error& error) {
    if (error.hint().empty()) error.hint("make the part anew: ckpt eval MODEL --data PATH --shard i/N > part.json");
    throw error.in(file);
  }
}

Part read_part(const std::string& file) { return parse_part(read_text(file), file); }

}  // namespace ckpt::eval
