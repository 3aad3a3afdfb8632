#pragma once

#include <optional>
#include <string>
#include <vector>

#include "devices/machine.h"
#include "devices/request.h"

namespace ckpt::eval {

/// What the asking program itself brings to the choice.
struct Program {
  std::optional<int> local_rank;  ///< under torchrun: LOCAL_RANK
  std::string lacks_cuda;   ///< why it could not use a GPU that is there ("libtorch_cuda.so was not found"), or empty
  std::string cuda_remedy;  ///< what to do about that; empty where there is nothing to say
  bool has_mps = false;     ///< Apple's GPU can be used
};

struct DeviceChoice {
  enum class Kind { cpu, cuda, mps };

  Kind kind = Kind::cpu;
  std::vector<int> gpus;           ///< logical indices, where cuda: never empty, none twice
  std::vector<std::string> notes;  ///< why it is this one, where somebody might ask
};

/// The device to run on.
///
/// "auto" takes what is there: a GPU, else mps, else the CPU, with a note where a GPU is there that cannot be used.
/// "auto" and "cuda" take the GPU with most free memory, or LOCAL_RANK's under torchrun ("auto" the CPU where that is
/// not there). "cuda:all" takes those that are supported, most free memory first. Throws Error (unavailable) where what
/// is asked for by name is not there, with what was looked for.
DeviceChoice choose(const DeviceRequest& request, const Machine& machine, const Program& program);

}  // namespace ckpt::eval
