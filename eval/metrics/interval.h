#pragma once

#include <cstdint>

namespace ckpt::eval {

struct Interval {
  double low = 0, high = 1;
};

/// Wilson's score interval of a proportion at 95 %: unlike the normal one, honest at 0 %, at 100 % and for few samples
/// (E. B. Wilson, 1927). Of no samples: 0 to 1, for nothing is known.
[[nodiscard]] Interval wilson(std::uint64_t correct, std::uint64_t samples);

}  // namespace ckpt::eval
