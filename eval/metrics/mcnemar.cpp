#include "metrics/mcnemar.h"

#include <algorithm>
#include <cmath>

namespace ckpt::eval {

double mcnemar(const Discordant& pairs) {
  const double few = static_cast<double>(std::min(pairs.lost, pairs.gained));
  const double many = static_cast<double>(std::max(pairs.lost, pairs.gained));
  const double all = few + many;
  if (all == 0) return 1;
  if (all < 25) {
    double term = std::exp2(-all), tail = 0;  // the binomial coefficients over 2^all, one after the other
    for (int k = 0; k <= few; ++k) {
      tail += term;
      term *= (all - k) / (k + 1);
    }
    return std::min(1.0, 2 * tail);
  }
  const double distance = std::max(0.0, many - few - 1);
  return std::erfc(std::sqrt(distance * distance / all / 2));
}

}  // namespace ckpt::eval
