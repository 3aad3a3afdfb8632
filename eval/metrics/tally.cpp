#include "metrics/tally.h"

#include <limits>

namespace ckpt::eval {

double Tally::accuracy() const {
  if (samples == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(correct) / static_cast<double>(samples);
}

std::vector<Tally> per_position(const Signature& signature, const Counts& counts) {
  const auto classes = static_cast<std::size_t>(signature.classes);
  std::vector<Tally> out(static_cast<std::size_t>(signature.positions), Tally{0, counts.samples});
  for (std::size_t at = 0; at < counts.confusion.size(); ++at)
    if (at / classes % classes == at % classes) out[at / classes / classes].correct += counts.confusion[at];
  return out;
}

std::vector<std::uint64_t> summed_confusion(const Signature& signature, const Counts& counts) {
  const auto cells = static_cast<std::size_t>(signature.classes) * static_cast<std::size_t>(signature.classes);
  std::vector<std::uint64_t> out(cells);
  for (std::size_t at = 0; at < counts.confusion.size(); ++at) out[at % cells] += counts.confusion[at];
  return out;
}

std::vector<Tally> per_class(const Signature& signature, const Counts& counts) {
  const auto classes = static_cast<std::size_t>(signature.classes);
  const std::vector<std::uint64_t> confusion = summed_confusion(signature, counts);
  std::vector<Tally> out(classes);
  for (std::size_t label = 0; label < classes; ++label) {
    for (std::size_t read = 0; read < classes; ++read) out[label].samples += confusion[label * classes + read];
    out[label].correct = confusion[label * classes + label];
  }
  return out;
}

}  // namespace ckpt::eval
