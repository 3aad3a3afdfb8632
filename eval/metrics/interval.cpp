#include "metrics/interval.h"

#include <algorithm>
#include <cmath>

namespace ckpt::eval {

Interval wilson(std::uint64_t correct, std::uint64_t samples) {
  if (samples == 0) return {};
  constexpr double z = 1.959963984540054;  // the normal distribution's 97.5 % quantile
  const double n = static_cast<double>(samples), p = static_cast<double>(correct) / n;
  const double scale = 1 + z * z / n, centre = p + z * z / (2 * n);
  const double half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  // At the ends the formula gives exactly 0 and 1 but for rounding.
  return {correct == 0 ? 0 : std::max(0.0, (centre - half) / scale),
          correct == samples ? 1 : std::min(1.0, (centre + half) / scale)};
}

}  // namespace ckpt::eval
