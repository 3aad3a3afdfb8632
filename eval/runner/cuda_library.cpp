#include "runner/cuda_library.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

#include <filesystem>

namespace ckpt::eval {
namespace {

// Of the driver's interface, which has never changed these (cuda.h).
using InitFunction = int(unsigned);
using CountFunction = int(int*);

template <typename Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string loading_error() {
  const char* words = dlerror();
  return words ? words : "unknown reason";
}

/// Empty where there is a GPU. Spares the second that libtorch takes where there is none.
std::string missing_gpu(std::vector<std::string>& looked_for) {
  looked_for.emplace_back("libcuda.so.1");
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never unloaded
  if (!driver) return "no NVIDIA driver: " + loading_error();
  auto* init = function<InitFunction>(driver, "cuInit");
  auto* count = function<CountFunction>(driver, "cuDeviceGetCount");
  if (!init || !count) return "libcuda.so.1 is no NVIDIA driver";
  int gpus = 0;
  if (const int status = init(0); status != 0)
    return "the NVIDIA driver finds no GPU (cuInit: error " + std::to_string(status) + ")";
  if (count(&gpus) != 0 || gpus == 0) return "the NVIDIA driver shows no GPU (CUDA_VISIBLE_DEVICES?)";
  return {};
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

CudaLibrary load() {
  CudaLibrary library;
  library.missing = missing_gpu(library.looked_for);
  if (!library.missing.empty()) return library;
  library.looked_for.push_back(cuda_half());
  // Global: libraries that it loads later look for its symbols.
  if (!dlopen(library.looked_for.back().c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    library.missing = "libtorch's CUDA half cannot be loaded: " + loading_error();
    library.hint = "pip install torch==2.11.0, with all that it depends on, brings it";
    return library;
  }
  if (c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA)) {
    library.gpus = c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)->deviceCount();
  }
  if (library.gpus == 0) library.missing = "libtorch finds no GPU that it can use (is the driver too old for CUDA 13?)";
  return library;
}

}  // namespace

const CudaLibrary& load_cuda() {
  static const CudaLibrary library = load();
  return library;
}

}  // namespace ckpt::eval
