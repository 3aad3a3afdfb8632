#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/eval.h"
#include "models/model.h"

namespace ckpt::eval {

struct LoadedModel {
  std::unique_ptr<Model> model;
  std::vector<std::string> files;     ///< the paths of what it is read from
  std::vector<std::string> layers;    ///< of an mlp: its Linear layers, in the order in which they run
  std::string digest;                 ///< of its weights; of TorchScript, the SHA-256 of the file
  std::vector<std::string> warnings;  ///< of the reader, and of what was run
  std::vector<std::string> notes;     ///< what was done to make it fit, with the commands that make it permanent
};

/// Reads the model that the options name. `has_cuda` is asked only where the answer matters. Throws Error: what reading
/// and load_model() throw.
[[nodiscard]] LoadedModel load_for_evaluation(const Options& options, const std::function<bool()>& has_cuda);

}  // namespace ckpt::eval
