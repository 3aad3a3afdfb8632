#pragma once

#include <cstdint>

namespace ckpt::eval {

/// Two models on the same samples, where exactly one of them was right.
struct Discordant {
  std::uint64_t lost = 0;    ///< right before, wrong now
  std::uint64_t gained = 0;  ///< wrong before, right now
};

/// McNemar's paired test: how likely a difference at least this large is between models that are equally good. Exact
/// (binomial, two-sided) below 25 discordant samples, else chi-square with one degree of freedom and the correction for
/// continuity (Q. McNemar, 1947; A. L. Edwards, 1948). 1 where nothing is discordant.
[[nodiscard]] double mcnemar(const Discordant& pairs);

}  // namespace ckpt::eval
