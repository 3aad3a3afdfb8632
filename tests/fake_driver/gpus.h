#pragma once

#include <string>
#include <vector>

/// The GPUs that the fake driver claims to have, out of the environment:
///
///     CKPT_FAKE_GPUS="3 11 8@6.1 5m"   four GPUs: free GB, compute capability (8.6 if left out), m for one with MIG
///     CKPT_FAKE_CUINIT=803             cuInit fails with this error
///     CKPT_FAKE_LOST=1                 the GPU of this number answers no question (error 46)
///     CKPT_FAKE_NVML=9                 nvmlInit fails with this error
namespace fake {

struct Gpu {
  int number = 0;
  unsigned long long free = 0;
  int major = 8, minor = 6;
  bool mig = false;

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string pci_id() const;  ///< as CUDA writes it
  [[nodiscard]] std::string uuid() const;    ///< without "GPU-"
};

std::vector<Gpu> installed();
/// Those that CUDA_VISIBLE_DEVICES leaves, in its order.
std::vector<Gpu> visible();
/// A number of the environment, or `otherwise`.
int setting(const char* name, int otherwise);
/// Puts `text` into a caller's buffer of `size`; false where it does not fit.
bool put(const std::string& text, char* out, unsigned size);

}  // namespace fake
