#pragma once

#include <ATen/Context.h>

#include <cstdint>
#include <memory>
#include <mutex>

namespace training {

/// A new model whose weights the seed alone decides: threads that make theirs at the same time draw from one generator.
template <class Model>
std::shared_ptr<Model> seeded(std::int64_t seed) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  at::manual_seed(static_cast<std::uint64_t>(seed));
  return std::make_shared<Model>();
}

}  // namespace training
