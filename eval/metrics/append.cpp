#include "metrics/append.h"

#include <algorithm>
#include <utility>

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

template <class Number>
void add(std::vector<Number>& out, std::vector<Number>&& more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

void append(Result& whole, Result next) {
  DataDigest digest = DataDigest::from_text(whole.data_digest);
  digest += DataDigest::from_text(next.data_digest);
  whole.data_digest = digest.text();
  whole.counts += next.counts;
  whole.ranks += next.ranks;
  add_measures(whole, next);
  add(whole.predictions.labels, std::move(next.predictions.labels));
  add(whole.predictions.predicted, std::move(next.predictions.predicted));
  add(whole.predictions.confidence, std::move(next.predictions.confidence));
  add(whole.predictions.truth, std::move(next.predictions.truth));
  add(whole.outputs, std::move(next.outputs));
}

}  // namespace ckpt::eval
