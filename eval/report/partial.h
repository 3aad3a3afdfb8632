#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckpt/eval.h"

/// Results of parts of a data set, joined without the machines that made them knowing each other.
namespace ckpt::eval {

/// What `ckpt eval --shard i/N` writes: one JSON object, which docs/eval.md describes. Integers are exact. `options`:
/// that led to it.
[[nodiscard]] std::string partial_text(const Result& result, const Options& options = {});

struct Part {
  std::string file;
  std::uint64_t first = 0;          ///< index of the first of its samples
  std::optional<std::string> root;  ///< as the options had it
  std::string split = "testing";    ///< likewise
  Result result;
};

/// Whether each of its samples has a prediction.
[[nodiscard]] bool has_predictions(const Part& part);

/// Throws Error: unsupported (no partial result, or another version's), corrupt (numbers that contradict each other),
/// limit_exceeded, io.
[[nodiscard]] Part read_part(const std::string& file);
[[nodiscard]] Part parse_part(const std::string& text, const std::string& file);

/// The result of the whole data set; the order of the parts does not matter. Phases and memory are those of the slowest
/// and the largest; predictions are there where every part has them. Throws Error (invalid_argument) where samples are
/// in no part, or in two, or the parts are of different models, data or versions, with the files' names.
[[nodiscard]] Result merge(std::vector<Part> parts);

}  // namespace ckpt::eval
