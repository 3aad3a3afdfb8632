#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace training {

/// A communicator of NCCL, the library that libtorch_cuda.so brings with it: called through its C interface, so that
/// neither CUDA nor NCCL is needed to build this. The calling thread's current GPU is the rank's.
class Nccl {
 public:
  /// What rank 0 makes and all ranks begin with. Throws ckpt::Error (unavailable) with NCCL's words, as all do here.
  static std::vector<std::uint8_t> new_id();

  Nccl(int rank, int size, const std::vector<std::uint8_t>& id);
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  /// Adds up float32 `values` in place, on the stream that PyTorch computes on.
  void sum(at::Tensor& values);

 private:
  void* communicator_ = nullptr;
};

}  // namespace training
