#include "devices/machine.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ckpt::eval {

const char* lacking_name(Lacking lacking) {
  switch (lacking) {
    case Lacking::nothing:
      return "nothing";
    case Lacking::driver:
      return "driver";
    case Lacking::component:
      return "component";
    case Lacking::gpu:
      return "gpu";
    case Lacking::visibility:
      return "visibility";
    case Lacking::working_driver:
      return "working-driver";
  }
  return "";
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::vector<int> by_free_memory(const Machine& machine) {
  std::vector<int> order(machine.gpus.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    // An empty optional is less than any other.
    return machine.gpus[a].free_bytes > machine.gpus[b].free_bytes;
  });
  return order;
}

bool is_supported(const Gpu& gpu) { return std::tie(gpu.major, gpu.minor) >= std::make_tuple(7, 5); }

}  // namespace ckpt::eval
