#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randperm.h>

#include <cstdint>

namespace training {

/// Random orders that Python repeats, and that are the same on every rank, since all take the same seed:
///
///     generator = torch.Generator().manual_seed(seed)
///     torch.randperm(count, generator=generator)
class Orders {
 public:
  explicit Orders(std::int64_t seed) : generator_(at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed))) {}

  /// The numbers below `count`, each once: int64, on the CPU.
  at::Tensor next(std::int64_t count) { return at::randperm(count, generator_, at::TensorOptions(at::kLong)); }

 private:
  at::Generator generator_;
};

}  // namespace training
