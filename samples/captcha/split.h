#pragma once

#include <array>
#include <cstdint>

namespace captcha {

/// Samples [begin, end) of a batch.
struct Part {
  const char* name;
  std::int64_t begin, end;
};

/// Of a batch of `count`: what to train on, to validate with and to test with. Cut at int(0.8 * count) and
/// int(0.9 * count), as Python computes them.
inline std::array<Part, 3> split(std::int64_t count) {
  const auto first = static_cast<std::int64_t>(0.8 * static_cast<double>(count));
  const auto second = static_cast<std::int64_t>(0.9 * static_cast<double>(count));
  return {{{"training", 0, first}, {"validating", first, second}, {"testing", second, count}}};
}

}  // namespace captcha
