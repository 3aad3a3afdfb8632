#pragma once

#include <string>

namespace ckpt::eval {

/// What became of loading libtorch's CUDA half.
struct TorchCuda {
  int gpus = 0;         ///< that libtorch can use; 0 where `missing` says why
  std::string missing;  ///< what is lacking, as a sentence without a full stop, with what was looked for
  std::string hint;     ///< what to do about it, where something can be done
};

/// Loads it, once in a process, beside the half that is linked. Must come before anything asks libtorch whether there
/// is CUDA, as a convolution on the CPU does: the answer is kept for good, and `missing` says so. From any thread, also
/// several: all but the first wait. Takes a second or so, so this_machine() is asked first whether there is a GPU.
[[nodiscard]] const TorchCuda& load_cuda();

}  // namespace ckpt::eval
