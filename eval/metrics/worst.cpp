#include "metrics/worst.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ckpt::eval {

std::vector<std::size_t> worst(const Predictions& predictions, std::size_t count) {
  std::vector<std::size_t> order(predictions.truth.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t positions = order.empty() ? 0 : predictions.predicted.size() / order.size();
  const auto key = [&](std::size_t at) {
    const bool is_finite = predictions.predicted[at * positions] >= 0;
    return std::pair(is_finite ? predictions.truth[at] : -1.0F, at);
  };
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  order.resize(count);
  return order;
}

std::vector<Picture> worst_pictures(Dataset& data, const Predictions& predictions, std::size_t count,
                                    const Draw& draw) {
  const std::vector<std::size_t> chosen = worst(predictions, count);
  std::vector<std::size_t> forward(chosen.size());  // reading forward is cheap
  std::iota(forward.begin(), forward.end(), std::size_t{0});
  std::sort(forward.begin(), forward.end(), [&](std::size_t a, std::size_t b) { return chosen[a] < chosen[b]; });
  std::vector<Picture> out(chosen.size());
  for (const std::size_t rank : forward) {
    const std::size_t at = chosen[rank], positions = predictions.labels.size() / predictions.truth.size();
    Picture& picture = out[rank];
    picture.index = predictions.first + at;
    const auto from = static_cast<std::ptrdiff_t>(at * positions), to = from + static_cast<std::ptrdiff_t>(positions);
    picture.label.assign(predictions.labels.begin() + from, predictions.labels.begin() + to);
    picture.read.assign(predictions.predicted.begin() + from, predictions.predicted.begin() + to);
    picture.truth = predictions.truth[at];
    draw(data.read(picture.index, 1), picture);
  }
  return out;
}

}  // namespace ckpt::eval
