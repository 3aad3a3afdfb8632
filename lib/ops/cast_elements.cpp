#include "ops/cast_elements.h"

#include <algorithm>
#include <array>

namespace ckpt {

bool is_cast_target(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::float32:
    case DType::float16:
    case DType::bfloat16:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return true;
    default:
      return false;
  }
}

const CastKernels& best_casts() {
  const CastKernels* const vectors = avx2_casts();
  return vectors != nullptr ? *vectors : portable_casts;
}

void cast_elements(DType from, DType to, std::span<const std::byte> in, std::span<std::byte> out,
                   const CastKernels& kernels) {
  const std::size_t from_size = dtype_size(from), to_size = dtype_size(to), count = in.size() / from_size;
  if (from == to) {
    std::copy_n(in.begin(), count * from_size, out.begin());
  } else if (to == DType::float32) {
    kernels.to_float32(from, in.data(), out.data(), count);
  } else if (from == DType::float32) {
    kernels.from_float32(to, in.data(), out.data(), count);
  } else {
    constexpr std::size_t block = 1024;  // stays in the first-level cache
    std::array<std::byte, block * sizeof(float)> floats;
    for (std::size_t done = 0; done < count; done += block) {
      const std::size_t now = std::min(block, count - done);
      kernels.to_float32(from, in.data() + done * from_size, floats.data(), now);
      kernels.from_float32(to, floats.data(), out.data() + done * to_size, now);
    }
  }
}

}  // namespace ckpt
