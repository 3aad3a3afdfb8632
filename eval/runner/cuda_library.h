#pragma once

#include <string>
#include <vector>

namespace ckpt::eval {

/// What became of loading libtorch's CUDA half.
struct CudaLibrary {
  int gpus = 0;                         ///< that libtorch can use; 0 where `missing` says why
  std::string missing;                  ///< what is lacking, as a sentence without a full stop
  std::string hint;                     ///< what to do about it, where something can be done
  std::vector<std::string> looked_for;  ///< in this order, the last one in vain where something is lacking
};

/// Loads it, once in a process, beside the half that is linked. Must come before anything asks libtorch whether there
/// is CUDA: the answer is kept for good. From any thread, also several: all but the first wait. Takes a second or so
/// where there is a GPU and next to nothing where there is none.
[[nodiscard]] const CudaLibrary& load_cuda();

}  // namespace ckpt::eval
