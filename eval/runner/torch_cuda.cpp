#include "runner/torch_cuda.h"

#include <ATen/Context.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <torch/headeronly/version.h>

#include <filesystem>
#include <string>

namespace ckpt::eval {
namespace {

std::string loading_error() {
  const char* words = dlerror();
  return words ? words : "unknown reason";
}

/// libtorch_cuda.so of the libtorch that is loaded: others do not fit it.
std::string cuda_half() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&c10::impl::registerDeviceGuard), &where) == 0 || !where.dli_fname) {
    return "libtorch_cuda.so";
  }
  const auto path = std::filesystem::path(where.dli_fname);
  return path.has_parent_path() ? (path.parent_path() / "libtorch_cuda.so").string() : "libtorch_cuda.so";
}

TorchCuda load() {
  TorchCuda cuda;
  const std::string file = cuda_half();
  // Global: libraries that it loads later look for its symbols.
  if (!dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    cuda.missing = "libtorch's CUDA half was looked for at " + file + " and cannot be loaded: " + loading_error();
    cuda.hint = "pip install torch==" TORCH_VERSION ", with all that it depends on, brings it";
    return cuda;
  }
  if (c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA))
    cuda.gpus = static_cast<unsigned char>(c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)->deviceCount());
  if (cuda.gpus == 0)
    cuda.missing = "libtorch finds no GPU that it can use by " + file + " (is the driver too old for CUDA 13?)";
  if (cuda.gpus > 0 && !at::hasCUDA()) {
    cuda.gpus = 0;
    cuda.missing = "libtorch was asked for CUDA before " + file + " was loaded, and keeps its answer";
    cuda.hint = "evaluate on a GPU first, or with --device auto, and on the CPU afterwards; or load that file first";
  }
  return cuda;
}

}  // namespace

const TorchCuda& load_cuda() {
  static const TorchCuda cuda = load();
  return cuda;
}

}  // namespace ckpt::eval
