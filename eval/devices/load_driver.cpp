#include <unistd.h>

#include <cstdlib>

#include "devices/cuda_library.h"
#include "devices/driver.h"
#include "devices/library.h"
#include "devices/nvml_library.h"

namespace ckpt::eval {
namespace {

/// Of the libcudart that is loaded already or would be found. Asking it neither needs nor starts a driver.
std::optional<int> runtime_version() {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"}) {
    const Library library(name);
    int (*get_version)(int* version) = nullptr;
    library.find("cudaRuntimeGetVersion", get_version);
    int version = 0;
    if (get_version != nullptr && get_version(&version) == 0) return version;
  }
  return std::nullopt;
}

}  // namespace

Driver load_driver() {
  Driver driver;
  driver.cuda = open_cuda(Library("libcuda.so.1"), driver.cuda_missing);
  driver.nvml = open_nvml(Library("libnvidia-ml.so.1"), driver.nvml_missing);
  driver.in_kernel = ::access("/proc/driver/nvidia/version", F_OK) == 0 || ::access("/dev/dxg", F_OK) == 0;
  driver.runtime_version = runtime_version();
  return driver;
}

Machine this_machine() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return examine(load_driver(), visible != nullptr ? std::optional<std::string>(visible) : std::nullopt);
}

}  // namespace ckpt::eval
