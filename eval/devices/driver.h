#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "devices/machine.h"

/// The few calls of the NVIDIA driver that we need, as an interface, so that tests bring a driver of their own.
namespace ckpt::eval {

/// libcuda.so.1. Devices are counted as CUDA_VISIBLE_DEVICES leaves them. What fails but for start() throws Error
/// (unavailable) with CUDA's own words.
class CudaDriver {
 public:
  struct Device {
    std::string name, pci_id, uuid;  ///< the uuid without "GPU-" or "MIG-": CUDA does not tell which
    int major = 0, minor = 0, multiprocessors = 0;
    std::uint64_t total_bytes = 0;
  };

  virtual ~CudaDriver() = default;
  /// cuInit: 0, or CUDA's error.
  virtual int start() = 0;
  /// What CUDA says about an error; empty where it says nothing.
  virtual std::string words(int error) = 0;
  virtual std::optional<int> version() = 0;
  virtual int count() = 0;
  virtual Device device(int logical) = 0;
  /// Makes a context for the question: a few hundred MB of the GPU's memory, for an instant.
  virtual std::optional<std::uint64_t> free_bytes(int logical) = 0;
};

/// libnvidia-ml.so.1, started. Knows every GPU that the process may open, and no CUDA_VISIBLE_DEVICES.
class Nvml {
 public:
  struct Board {
    int index = 0;
    bool is_mig = false;  ///< split into instances, each a device to CUDA
    std::optional<std::uint64_t> free_bytes;
  };

  virtual ~Nvml() = default;
  virtual std::string driver_version() = 0;
  /// "GPU-…" of all, by index; an empty one where NVML does not tell.
  virtual std::vector<std::string> uuids() = 0;
  virtual std::optional<Board> board(const std::string& pci_id) = 0;
  virtual std::optional<std::uint64_t> mig_free_bytes(const std::string& uuid) = 0;
};

/// What was found of the driver.
struct Driver {
  std::unique_ptr<CudaDriver> cuda;
  std::unique_ptr<Nvml> nvml;
  std::string cuda_missing;  ///< the dynamic linker's words, where there is no `cuda`
  std::string nvml_missing;  ///< likewise
  bool in_kernel = false;    ///< the kernel has NVIDIA's module, or Windows' in its place
  std::optional<int> runtime_version;
};

Driver load_driver();

/// What this_machine() does with what was found. `visible` is CUDA_VISIBLE_DEVICES.
Machine examine(const Driver& driver, std::optional<std::string> visible);

}  // namespace ckpt::eval
