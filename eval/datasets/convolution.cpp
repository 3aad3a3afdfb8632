#include "datasets/convolution.h"

#include <algorithm>
#include <cmath>

namespace ckpt::eval {
namespace {

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/// The samples that make one, and how much each counts; the weights sum up to 1.
struct Window {
  std::size_t first;
  std::vector<double> weights;
};

Window window_of(std::size_t index, std::size_t from, std::size_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double centre = (static_cast<double>(index) + 0.5) * scale;
  const double support = 2 * stretch;
  const auto first = static_cast<std::size_t>(std::max(centre - support + 0.5, 0.0));
  // As Pillow rounds.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const auto last = std::min(static_cast<std::size_t>(centre + support + 0.5), from);

  Window window{first, std::vector<double>(last - first)};
  double sum = 0;
  for (std::size_t i = 0; i < window.weights.size(); ++i) {
    window.weights[i] = bicubic((static_cast<double>(i + first) - centre + 0.5) * (1 / stretch));
    sum += window.weights[i];
  }
  if (sum != 0) {
    for (double& weight : window.weights) weight /= sum;
  }
  return window;
}

/// 8 bits of a sample and 2 for sums above it leave 22 of an int for the fraction.
struct Fixed {
  using Sample = std::uint8_t;
  using Sum = std::int32_t;
  static constexpr int bits = 32 - 8 - 2;
  static constexpr Sum start = 1 << (bits - 1);

  static Sum weight(double w) { return static_cast<Sum>(w * (1 << bits) + (w < 0 ? -0.5 : 0.5)); }
  static Sample sample(Sum sum) { return static_cast<Sample>(std::clamp(sum >> bits, 0, 255)); }
};

struct Floating {
  using Sample = std::uint16_t;
  using Sum = double;
  static constexpr Sum start = 0;

  static Sum weight(double w) { return w; }
  static Sample sample(Sum sum) { return static_cast<Sample>(std::clamp(std::round(sum), 0.0, 65535.0)); }
};

template <class Arithmetic, class Sample = typename Arithmetic::Sample, class Sum = typename Arithmetic::Sum>
std::vector<Sample> convolve(std::span<const Sample> samples, const Axis& axis, std::size_t length) {
  std::vector<Sample> out(axis.before * length * axis.after);
  std::vector<Sum> sums(axis.after);
  std::vector<Sum> weights;
  for (std::size_t i = 0; i < length; ++i) {
    const Window window = window_of(i, axis.length, length);
    weights.resize(window.weights.size());
    std::transform(window.weights.begin(), window.weights.end(), weights.begin(), Arithmetic::weight);
    for (std::size_t block = 0; block < axis.before; ++block) {
      std::fill(sums.begin(), sums.end(), Arithmetic::start);
      const Sample* from = samples.data() + (block * axis.length + window.first) * axis.after;
      for (const Sum weight : weights) {
        for (Sum& sum : sums) sum += weight * static_cast<Sum>(*from++);
      }
      std::transform(sums.begin(), sums.end(), out.data() + (block * length + i) * axis.after, Arithmetic::sample);
    }
  }
  return out;
}

}  // namespace

std::vector<std::uint8_t> convolved(std::span<const std::uint8_t> samples, const Axis& axis, std::size_t length) {
  return convolve<Fixed>(samples, axis, length);
}

std::vector<std::uint16_t> convolved(std::span<const std::uint16_t> samples, const Axis& axis, std::size_t length) {
  return convolve<Floating>(samples, axis, length);
}

}  // namespace ckpt::eval
