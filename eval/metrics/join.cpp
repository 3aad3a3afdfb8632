#include "metrics/join.h"

#include <algorithm>

#include "ckpt/shape.h"
#include "datasets/append.h"
#include "datasets/dataset.h"

namespace ckpt::eval {
namespace {

/// Adds `text` to a list with commas, once.
void add_name(std::string& list, const std::string& text) {
  if (text.empty() || (", " + list + ", ").find(", " + text + ", ") != std::string::npos) return;
  list += (list.empty() ? "" : ", ") + text;
}

void add_measures(Result& out, const Result& part) {
  const auto most = [](auto& a, const auto& b) { a = std::max(a, b); };
  most(out.seconds.start, part.seconds.start);
  most(out.seconds.read, part.seconds.read);
  most(out.seconds.upload, part.seconds.upload);
  most(out.seconds.run, part.seconds.run);
  most(out.host_peak, part.host_peak);
  most(out.gpu_peak, part.gpu_peak);
  add_name(out.device, part.device);
  if (out.machine != part.machine) out.machine = "several machines";
  for (const std::string& warning : part.warnings)
    if (std::find(out.warnings.begin(), out.warnings.end(), warning) == out.warnings.end())
      out.warnings.push_back(warning);
}

std::string layers_text(const std::vector<std::string>& layers) {
  std::string list;
  for (const std::string& layer : layers) list += (list.empty() ? "" : ", ") + layer;
  return list;
}

std::string outputs_text(const Signature& signature) {
  return std::to_string(signature.positions) + " x " + std::to_string(signature.classes) + " of \"" +
         signature.alphabet + "\"";
}

std::string data_text(const Result& result) {
  constexpr std::size_t shown = 8;
  return result.data + " (" + std::to_string(result.data_samples) + " samples, first and labels " +
         result.data_fingerprint.substr(0, shown) + ")";
}

}  // namespace

std::optional<Difference> difference(const Result& one, const Result& other) {
  const Signature &a = one.signature, &b = other.signature;
  const auto scale = [](const Signature& s) { return std::to_string(s.mean) + ", " + std::to_string(s.std); };
  if (one.version != other.version) return Difference{"versions of ckpt", one.version, other.version};
  if (one.digest != other.digest) return Difference{"models", one.digest, other.digest};
  if (one.arch != other.arch) return Difference{"architectures", one.arch, other.arch};
  if (one.activation != other.activation) return Difference{"activations", one.activation, other.activation};
  if (one.layers != other.layers)
    return Difference{"orders of layers", layers_text(one.layers), layers_text(other.layers)};
  if (one.precision != other.precision) return Difference{"precisions", one.precision, other.precision};
  if (a.input != b.input) return Difference{"inputs", shape_text(a.input), shape_text(b.input)};
  if (outputs_text(a) != outputs_text(b)) return Difference{"outputs", outputs_text(a), outputs_text(b)};
  if (a.mean != b.mean || a.std != b.std) return Difference{"normalisations", scale(a), scale(b)};
  if (one.data_samples != other.data_samples || one.data_fingerprint != other.data_fingerprint)
    return Difference{"data", data_text(one), data_text(other)};
  return std::nullopt;
}

void join(Result& whole, const Result& next) {
  DataDigest digest = DataDigest::from_text(whole.data_digest);
  digest += DataDigest::from_text(next.data_digest);
  whole.data_digest = digest.text();
  whole.counts += next.counts;
  whole.ranks += next.ranks;
  add_measures(whole, next);
  append(whole.predictions.labels, next.predictions.labels);
  append(whole.predictions.predicted, next.predictions.predicted);
  append(whole.predictions.confidence, next.predictions.confidence);
  append(whole.predictions.truth, next.predictions.truth);
  append(whole.outputs, next.outputs);
}

}  // namespace ckpt::eval
