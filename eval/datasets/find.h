#pragma once

#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace ckpt::eval {

/// A test set that is there, and has not been opened.
struct FoundData {
  enum class Kind { idx, tensors, pictures } kind;
  std::string path;                ///< what it is called: the file, or the folder of several
  std::vector<std::string> files;  ///< the images of an IDX pair; batches, pictures in their order
};

/// What request.data names, or else $CKPT_DATA, or else what fits the architecture beside the model or below ./data.
/// A file is what its content says; in a folder the first of what suits the architecture is taken: IDX files (also
/// below raw, MNIST/raw and mnist), digits_test*.pt, batches SPLIT_set.0.pt, SPLIT_set.1.pt …, one npz or
/// *test*.safetensors, pictures (a model of captchas: batches, pictures, then the rest).
/// Throws Error: invalid_argument (nothing found; what was looked at, and the command), io, truncated (a batch is
/// missing between others).
FoundData find_data(const DataRequest& request);

}  // namespace ckpt::eval
