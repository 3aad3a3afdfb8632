#include "models/winograd_transforms.h"

namespace ckpt::eval {
namespace {

namespace portable {
#define TARGET
#define LANES 4
#include "models/winograd_transforms.inc"
#undef TARGET
#undef LANES
}  // namespace portable

#ifdef __x86_64__
namespace avx2 {
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#include "models/winograd_transforms.inc"
#undef TARGET
#undef LANES
}  // namespace avx2
#endif

}  // namespace

std::vector<WinogradTransforms> winograd_transforms() {
  std::vector<WinogradTransforms> usable;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    usable.push_back({"avx2", avx2::transform_input, avx2::transform_output});
#endif
  usable.push_back({"portable", portable::transform_input, portable::transform_output});
  return usable;
}

}  // namespace ckpt::eval
