#include "metrics/tally.h"

#include <algorithm>
#include <limits>

namespace ckpt::eval {

double Tally::accuracy() const {
  if (samples == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(correct) / static_cast<double>(samples);
}

Counts counts_of(const Signature& signature, const Predictions& predictions) {
  const auto positions = static_cast<std::size_t>(signature.positions);
  const auto classes = static_cast<std::size_t>(signature.classes);
  Counts out;
  out.samples = predictions.labels.size() / positions;
  out.confusion.assign(positions * classes * classes, 0);
  for (std::size_t sample = 0; sample < out.samples; ++sample) {
    const std::int32_t* const labels = predictions.labels.data() + sample * positions;
    const std::int32_t* const read = predictions.predicted.data() + sample * positions;
    if (std::find(read, read + positions, -1) != read + positions) {
      ++out.not_finite;
      continue;
    }
    out.correct += std::equal(labels, labels + positions, read);
    for (std::size_t position = 0; position < positions; ++position) {
      if (labels[position] < 0) continue;
      const std::size_t row = position * classes + static_cast<std::size_t>(labels[position]);
      ++out.confusion[row * classes + static_cast<std::size_t>(read[position])];
    }
  }
  return out;
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
