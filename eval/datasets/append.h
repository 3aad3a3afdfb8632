#pragma once

#include <vector>

namespace ckpt::eval {

template <class Number>
void append(std::vector<Number>& whole, const std::vector<Number>& next) {
  whole.insert(whole.end(), next.begin(), next.end());
}

}  // namespace ckpt::eval
