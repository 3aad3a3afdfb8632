#include "metrics/join.h"

#include <algorithm>

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

}  // namespace

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
