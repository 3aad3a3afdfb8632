#include "targets/input.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ops/tensor_bytes.h"

namespace ckpt::fuzz {

void broken(const std::string& promise) {
  std::fprintf(stderr, "ckpt-fuzz: broken promise: %s\n", promise.c_str());
  std::abort();
}

ByteSourcePtr source_of(const std::uint8_t* data, std::size_t size) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  return memory_source({bytes, bytes + size}, "input");
}

std::uint64_t logical_bytes(const Checkpoint& checkpoint) {
  double sum = 0;
  const auto add = [&](const Tensor& tensor) {
    if (error_of([&] { sum += static_cast<double>(ckpt::logical_bytes(tensor.info)); })) sum = HUGE_VAL;
  };
  for (const Tensor& tensor : checkpoint.tensors) {
    add(tensor);
    for (const Tensor::Part& part : tensor.parts) add(part.tensor);
  }
  return sum < 1e18 ? static_cast<std::uint64_t>(sum) : UINT64_MAX;
}

}  // namespace ckpt::fuzz
